import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { testAccount, testGateway, testPayment } from '../../../test/gateway.ts'
import { openToldPayments } from './told-payments.ts'

const folder = await mkdtemp(join(tmpdir(), 'beck-told-'))
after(() => rm(folder, { recursive: true }))

const linesOf = async (file: string) =>
  (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')

test('a payment that is committed late is told of within ten looks, and each is told of once', async () => {
  const gateway = await testGateway({ freshPerChain: 20 })
  const { db } = gateway
  const account = await testAccount(gateway)
  const made = async (shift: string) => {
    const { id } = await testPayment(gateway, account)
    await db.query(
      `update events set created_at = created_at + $2::interval where cause like '%' || $1 || '%'`,
      [id, shift],
    )
    return id
  }
  const told = openToldPayments(folder, null)
  const noted = () => linesOf(join(folder, 'told-payments'))
  const first = await made('0')
  await told.note(db)
  assert.deepEqual(await noted(), [first])
  const next = await made('1 minute')
  await told.note(db)
  const late = await made('-8 seconds')
  for (let look = 2; look < 10; look++) await told.note(db)
  assert.deepEqual(await noted(), [first, next])
  await told.note(db)
  assert.deepEqual(await noted(), [first, next, late])
  for (let look = 0; look < 10; look++) await told.note(db)
  assert.deepEqual(await noted(), [first, next, late])
})

test('thousands are read in parts, also where more are of one moment than a part has', async () => {
  const gateway = await testGateway({ freshPerChain: 20 })
  const { db } = gateway
  const { id } = await testPayment(gateway, await testAccount(gateway))
  const parts = join(folder, 'parts')
  const told = openToldPayments(parts, null)
  await told.note(db)
  const { rows } = await db.query<{ id: string }>(
    `with made as (
       insert into events (account_id, id, type, cause, body, created_at)
       select e.account_id, gen_random_uuid(), e.type, replace(e.cause, $1, gen_random_uuid()::text), e.body,
         now() + case when n <= 4500 then interval '1 second' else make_interval(secs => n) end
       from events e, generate_series(1, 9200) n where e.cause like '%' || $1 || '%'
       returning cause, created_at
     ) select split_part(cause, ':', 2) as id from made`,
    [id],
  )
  for (let look = 0; look < 12; look++) await told.note(db)
  const noted = await linesOf(join(parts, 'told-payments'))
  assert.deepEqual(noted.toSorted(), [id, ...rows.map((row) => row.id)].toSorted())
})

test('what an append left of a line costs no other, and who begins looks as far back as the last may have missed', async () => {
  const gateway = await testGateway({ freshPerChain: 20 })
  const { db } = gateway
  const account = await testAccount(gateway)
  const torn = join(folder, 'torn')
  const first = await testPayment(gateway, account)
  await openToldPayments(torn, null).note(db)
  await appendFile(join(torn, 'told-payments'), '0199')
  const late = await testPayment(gateway, account)
  await db.query(
    `update events set created_at = now() - interval '18 seconds' where cause like '%' || $1 || '%'`,
    [late.id],
  )
  await openToldPayments(torn, new Date()).note(db)
  assert.deepEqual(
    (await linesOf(join(torn, 'told-payments'))).toSorted(),
    ['0199', first.id, first.id, late.id].toSorted(),
  )
  assert.deepEqual(await openToldPayments(torn, null).findGone(db), [])
})
