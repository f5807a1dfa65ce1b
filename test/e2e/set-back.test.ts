/**
 * A real PostgreSQL whose data directory is set back to a copy while Beck runs on it, under load, with withdrawals in flight:
 * Beck notices by itself, nothing moves until the operator has looked, and nobody is paid twice.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { TypeID } from 'typeid-js'
import { openDatabase } from '../../src/db/database.ts'
import { type Cluster, startCluster } from '../../src/db/embedded/embedded.ts'
import { partOf } from '../beck-process.ts'
import type { Answer } from '../installation.ts'
import { startNode } from '../litecoind.ts'
import { liveInstallation } from '../live-installation.ts'
import { until, waitFor } from '../wait-for.ts'

const exec = promisify(execFile)
const node = await startNode({ chain: 'litecoin' })
const folder = await mkdtemp(join(tmpdir(), 'beck-set-back-'))
let cluster: Cluster = await startCluster({ dataDir: folder, settings: ['fsync=off'] })
after(async () => {
  await cluster.stop()
  await rm(folder, { recursive: true, force: true })
})
const url = cluster.url('postgres')
const { start, beck, openAccount, dataDir } = await liveInstallation({
  DATABASE_URL: url,
  LITECOIN_RPC_URL: node.rpcUrl,
  LITECOIN_NETWORK: 'regtest',
  BECK_SIGNER_LIMITS: 'LTC=tx:100,day:500',
})

/** Stops PostgreSQL, does something with its files, and starts it where it was. */
async function besideDatabase(work: (files: string) => Promise<unknown>): Promise<void> {
  const db = openDatabase({ url, connectionsMax: 1 })
  const { rows } = await db.query<{ files: string }>(`select current_setting('data_directory') as files`)
  await db.close()
  await cluster.stop()
  await work(rows[0]?.files ?? '')
  cluster = await startCluster({ dataDir: folder, settings: ['fsync=off'] })
  assert.equal(cluster.url('postgres'), url, 'where Beck looks for it')
}

const toUUID = (id: string): string => TypeID.fromString(id).toUUID()

const sql = async <Row = Answer>(text: string): Promise<Row[]> => {
  const db = openDatabase({ url, connectionsMax: 1 })
  try {
    return (await db.query<Row>(text)).rows
  } finally {
    await db.close()
  }
}

test('commits that are lost are noticed, stop the money, are named, and cost nobody anything twice', {
  timeout: 500_000,
}, async () => {
  let running = await start()
  const call = await openAccount()
  await beck('wallet', 'init')
  const draft = { asset: 'LTC', fiat_amount: 650 }
  const pay = async () => {
    const { id, deposit } = await waitFor('an address', async () => {
      const created = await call('POST', '/payments', draft)
      return created.status === 201 ? created.data : null
    })
    await node.pay([[deposit.address, deposit.expected_amount]])
    return { id, address: deposit.address as string }
  }
  const paymentStatus = async (id: string) => (await call('GET', `/payments/${id}`)).data?.status
  const statusOf = async (id: string) => {
    const { data } = await call('GET', '/withdrawals')
    return Array.isArray(data) ? data.find((each: Answer) => each.id === id)?.status : undefined
  }
  const paid = [await pay(), await pay(), await pay()]
  await node.mine(6)
  for (const { id } of paid)
    await until('a payment is completed', async () => (await paymentStatus(id)) === 'completed')

  const withdraw = async () => {
    const destination = await node.call<string>('getnewaddress', '', 'bech32')
    const order = { asset: 'LTC', amount: '2', destination_address: destination }
    const { status, data, error } = await call('POST', '/withdrawals', order)
    assert.equal(status, 201, JSON.stringify(error))
    return { id: data.id as string, destination }
  }
  const received = async (destination: string): Promise<number> =>
    (await node.call<{ txids: string[] }[]>('listreceivedbyaddress', 0, false, true, destination)).flatMap(
      ({ txids }) => txids,
    ).length

  // Asked for before the copy, signed and sent after it.
  const signer = await partOf(running.child, 'signer/main.ts')
  process.kill(signer, 'SIGSTOP')
  const sent = await withdraw()
  assert.equal(await statusOf(sent.id), 'requested')
  await besideDatabase((files) => exec('cp', ['-a', files, `${files}.copy`]))
  await until(
    'Beck goes on after the copy',
    async () => (await call('POST', '/payments', draft)).status === 201,
  )
  process.kill(signer, 'SIGCONT')
  await until('it is sent', async () => (await statusOf(sent.id)) === 'broadcast')
  const forgotten = await withdraw()
  await until(
    'a withdrawal that the copy does not know is sent',
    async () => (await statusOf(forgotten.id)) === 'broadcast',
  )
  // What merchants are told of from here on will be gone.
  const told: { id: string; address: string }[] = []
  const refusals: Answer[] = []
  let isLoad = true
  const load = async () => {
    while (isLoad) {
      const answer = await call('POST', '/payments', draft).catch(() => null)
      if (answer?.status === 201) told.push({ id: answer.data.id, address: answer.data.deposit.address })
      else if (answer) refusals.push(answer)
    }
  }
  const loads = [load(), load()]
  await until('payments are told of', async () => told.length >= 40)
  const before = told.length
  const noted = async () => readFile(join(dataDir, 'told-payments'), 'utf8')
  await until('they are noted outside of the database', async () => {
    const text = await noted()
    return told.slice(0, before).every(({ id }) => text.includes(toUUID(id)))
  })

  await besideDatabase(async (files) => {
    await rm(files, { recursive: true })
    await exec('mv', [`${files}.copy`, files])
  })
  await until('creations are refused for what happened', async () =>
    refusals.some(({ status, error }) => status === 503 && error.reason === 'database_went_back'),
  )
  const alert = await waitFor('the operator is told', async () => {
    const [found] = await sql<{ message: string }>(
      `select message from alerts where kind = 'database_went_back'`,
    )
    return found ?? null
  })
  isLoad = false
  await Promise.all(loads)
  assert.match(alert.message, /payments that merchants were told of are gone: pay_.*npx beck resume/)
  const lost = (await readFile(join(dataDir, 'lost-payments'), 'utf8')).trim().split('\n')
  const missing = told.slice(0, before).filter(({ id }) => !lost.includes(id))
  assert.deepEqual(missing, [], 'each that had been told of for a second is named')
  for (const id of lost) assert.equal((await call('GET', `/payments/${id}`)).status, 404)

  // What is seen of it, and what does not move.
  assert.equal((await call('POST', '/withdrawals', {})).error.reason, 'database_went_back')
  const origin = (await sql<{ stopped: string }>('select stopped from time_arrow'))[0]
  assert.match(origin?.stopped ?? '', /the database lost commits: its counter stands at/)
  const frozen = await sql<{ asset: string }>(`select asset from freezes where chain = 'litecoin'`)
  assert.deepEqual(frozen, [{ asset: 'LTC' }])

  // A restart forgets nothing, and the operator's word lets quotes be given again.
  await running.stop()
  running = await start()
  assert.equal((await call('POST', '/payments', draft)).error.reason, 'database_went_back')
  const { stopped } = await beck('resume')
  assert.match(stopped, /lost commits/)
  const handedOut = new Set([...paid, ...told].map(({ address }) => address))
  let refused: Answer = null
  const next = await waitFor('quotes are given again', async () => {
    const created = await call('POST', '/payments', draft)
    refused = created.error
    return created.status === 201 ? created.data : null
  }).catch((error) => assert.fail(`${error.message}; ${JSON.stringify(refused)}\n${running.log()}`))
  for (let count = 0; count < 30; count++) {
    const { status, data } =
      count === 0 ? { status: 201, data: next } : await call('POST', '/payments', draft)
    assert.equal(status, 201)
    assert.ok(!handedOut.has(data.deposit.address), 'no address is handed out twice')
    handedOut.add(data.deposit.address)
  }

  await node.mine(7)
  await until(
    'the payout that the copy knew completes',
    async () => (await statusOf(sent.id)) === 'completed',
  )
  await sql('delete from freezes')
  await node.mine(2)
  for (const { destination } of [sent, forgotten])
    assert.equal(await received(destination), 1, 'paid once, and not again')
  await running.stop()
})
