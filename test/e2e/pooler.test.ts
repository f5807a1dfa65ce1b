/** Beck on an external PostgreSQL behind PgBouncer in transaction mode: every statement may get another connection. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { Beck } from '../../sdk/src/index.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { waitFor } from '../wait-for.ts'

const folder = await mkdtemp(join(tmpdir(), 'beck-pooler-'))
after(() => rm(folder, { recursive: true, force: true }))

/** PgBouncer before a database that shares a few connections among all. */
async function startPooler(databaseUrl: string): Promise<string> {
  const { hostname, port, pathname, username, password } = new URL(databaseUrl)
  const listenPort = await freePort()
  await chmod(folder, 0o711)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]
beck = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
log_connections = 0
log_disconnections = 0
`,
    { mode: 0o644 },
  )
  // PgBouncer does not run as root.
  const options = process.getuid?.() === 0 ? ['--user', 'postgres'] : []
  const child = spawn('pgbouncer', [...options, file], {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  after(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  await waitFor('PgBouncer listens', async () => {
    assert.equal(child.exitCode, null, said)
    const socket = connect(listenPort, '127.0.0.1')
    const answer = await once(socket, 'connect').then(
      () => true,
      () => null,
    )
    socket.destroy()
    return answer
  })
  return `postgres://beck@127.0.0.1:${listenPort}/beck`
}

const direct = await testDatabaseUrl({ template: false })
const settings = {
  DATABASE_URL: await startPooler(direct),
  BECK_SECRET_KEY: Buffer.alloc(32, 9).toString('hex'),
  BECK_DATA_DIR: folder,
  BECK_SANDBOX_BLOCK_MS: '250',
}

test('two whole Becks behind a transaction pooler take payments at once, pay out, and the books balance', async () => {
  const start = async () =>
    startBeckProcess(['start'], {
      ...settings,
      PORT: String(await freePort()),
      // Two signers never share a directory.
      BECK_DATA_DIR: await mkdtemp(join(folder, 'beck-')),
    })
  const becks = await Promise.all([start(), start()])
  const answers = await Promise.all(becks.map((beck) => beck.hears((object) => 'url' in object)))
  const keys = answers.flatMap(({ key }) => (typeof key === 'string' ? [key] : []))
  assert.equal(keys.length, 1, 'of two first starts at once, one makes the first account')
  const [apiKey = ''] = keys
  const clients = answers.map(({ url }) => new Beck({ apiKey, baseUrl: String(url), retries: 0 }))
  const [first = assert.fail()] = clients

  await waitFor('there are addresses', async () => {
    const metrics = await fetch(new URL('/metrics', String(answers[0]?.url)))
    return /^beck_fresh_addresses\{chain="sim-litecoin"\} 500$/m.test(await metrics.text()) || null
  })
  const ids = await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      const beck = clients[index % 2] ?? first
      const { id } = await beck.payments.create({ asset: 'LTC', fiat_amount: 50 + index })
      await beck.sandbox.pay(id, { confirmations: index % 3 })
      return id
    }),
  )
  await waitFor('every payment is completed', async () => {
    const { items } = await first.payments.list({ filter_status: 'completed', limit: 100 })
    return items.length === ids.length || null
  })
  const idempotencyKey = 'one effect'
  const same = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      (clients[index % 2] ?? first).payments
        .create({ asset: 'BTC', fiat_amount: 5 }, { idempotencyKey })
        .then(({ id }) => id),
    ),
  )
  assert.equal(new Set(same).size, 1)

  const { id } = await first.withdrawals.create({
    asset: 'LTC',
    amount: '1',
    destination_address: 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0',
  })
  await waitFor('the withdrawal is completed', async () => {
    const found = (await first.withdrawals.list()).find((withdrawal) => withdrawal.id === id)
    return found?.status === 'completed' || null
  })

  const proof = startBeckProcess(['reconcile'], settings)
  assert.equal(await proof.ended, 0, JSON.stringify(proof.said))
  await Promise.all(becks.map((beck) => beck.stop()))
})
