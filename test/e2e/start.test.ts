/** `npm start` on an empty folder with its own PostgreSQL: what a newcomer sees, and what survives `kill -9`. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { Beck, ConnectionError } from '../../sdk/src/index.ts'
import { ASSETS } from '../../src/core/assets.ts'
import { openDatabase } from '../../src/db/database.ts'
import { DirectoryInUse, lockDirectory } from '../../src/db/embedded/directory-lock.ts'
import { freePort } from '../../src/db/embedded/embedded.ts'
import { insertUser } from '../../src/users/users.sql.ts'
import { type BeckProcess, startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { until, waitFor } from '../wait-for.ts'

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'beck-start-'))
  after(() => rm(path, { recursive: true, force: true, maxRetries: 9 }))
  return path
}

const dataDir = await folder()
/** The whole of Beck on the same folder; blocks only by hand. */
const settings = async (): Promise<Record<string, string>> => ({
  PORT: String(await freePort()),
  BECK_DATA_DIR: dataDir,
  BECK_SANDBOX_BLOCK_MS: '0',
})
const isAnswer = (object: Record<string, unknown>): boolean => 'url' in object

/** A client with the key of the first start. */
let apiKey = ''
const client = (url: unknown): Beck => new Beck({ apiKey, baseUrl: String(url), retries: 0 })
const countPayments = async (beck: Beck): Promise<number> => (await beck.payments.list({ limit: 1 })).total
const becomes = (beck: Beck, id: string, status: string) =>
  waitFor(status, async () => {
    const payment = await beck.payments.retrieve(id)
    return payment.status === status ? payment : null
  })

const postgresPid = async (directory: string): Promise<number> =>
  Number((await readFile(join(directory, 'pg/postmaster.pid'), 'utf8')).split('\n')[0])
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('npm start prints an API and a key, and a payment of every coin comes to completed', async () => {
  const env = await settings()
  const npm = spawn('npm', ['start', '--silent', '--', '--json'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, BECK_LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  after(() => npm.kill('SIGKILL'))
  const ended = once(npm, 'exit')
  const [line] = (await once(npm.stdout, 'data')) as [Buffer]
  const answer: Record<string, string> = JSON.parse(line.toString())
  assert.equal(answer.url, `http://localhost:${env.PORT}/v1`)
  assert.match(answer.account_id ?? '', /^acct_/)
  apiKey = answer.key ?? ''
  const beck = client(answer.url)

  for (const asset of ASSETS) {
    const { id, deposit } = await beck.payments.create({ asset, fiat_amount: 20 })
    assert.ok(deposit.address, asset)
    await beck.sandbox.pay(id)
    // On Ethereum a payment shows once a block holds it.
    if (deposit.network === 'ethereum') await beck.sandbox.mine({ network: 'ethereum' })
    assert.equal((await becomes(beck, id, 'detected')).completed_at, null)
    await beck.sandbox.mine({ network: deposit.network, count: deposit.required_confirmations })
    assert.ok((await becomes(beck, id, 'completed')).completed_at, asset)
  }

  const postgres = await postgresPid(dataDir)
  npm.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null], 'npm passes the signal on, and Beck ends in order')
  assert.equal(isAlive(postgres), false, 'PostgreSQL ended with Beck')
})

let running: BeckProcess

test('after kill -9 the next start works, with every payment and no second key', async () => {
  const killed = startBeckProcess(['start'], await settings())
  const { url, ...more } = await killed.hears(isAnswer)
  // Until somebody has made himself its first person, each start prints a link to do so.
  assert.deepEqual(Object.keys(more), ['first_person_link'])
  const { id } = await client(url).payments.create({
    asset: 'LTC',
    fiat_amount: 5,
    reference: 'before the kill',
  })
  await client(url).sandbox.pay(id)
  killed.child.kill('SIGKILL')
  await killed.ended

  running = startBeckProcess(['start'], await settings())
  const beck = client((await running.hears(isAnswer)).url)
  assert.equal((await becomes(beck, id, 'detected')).reference, 'before the kill')
  assert.equal(await countPayments(beck), ASSETS.length + 1)
  await beck.sandbox.mine({ network: 'litecoin', count: 6 })
  await becomes(beck, id, 'completed')
})

test('a second start on the same folder says who has it and ends with 1; the first goes on', async () => {
  const second = startBeckProcess(['start'], await settings())
  assert.equal(await second.ended, 1)
  await second.complains('already runs on the data directory')
  await second.complains(`process ${running.child.pid} on`)
  await second.complains('BECK_DATA_DIR')

  const tool = startBeckProcess(['accounts', 'list'], { BECK_DATA_DIR: dataDir })
  assert.equal(await tool.ended, 0, 'the command line works beside a running server')
  assert.equal(await countPayments(client((await running.hears(isAnswer)).url)), ASSETS.length + 1)
})

test('a port in use is said before anything is made, and the next start still shows its key', async () => {
  const { port } = new URL(String((await running.hears(isAnswer)).url))
  const elsewhere = await folder()
  const second = startBeckProcess(['start'], {
    ...(await settings()),
    PORT: port,
    BECK_DATA_DIR: elsewhere,
  })
  assert.equal(await second.ended, 1)
  await second.complains(`port ${port} is in use`)
  await assert.rejects(postgresPid(elsewhere), { code: 'ENOENT' })
  const third = startBeckProcess(['start'], { ...(await settings()), BECK_DATA_DIR: elsewhere })
  assert.match(String((await third.hears(isAnswer)).key), /^bk_test_/)
  await third.stop()
})

test('a Beck that cannot go on ends at once, and takes signer and PostgreSQL along', async () => {
  const elsewhere = await folder()
  const crash = "process.on('SIGUSR2',()=>{throw(new(Error)('boom'))})"
  const beck = startBeckProcess(['start'], {
    ...(await settings()),
    BECK_DATA_DIR: elsewhere,
    NODE_OPTIONS: `--import=data:text/javascript,${crash}`,
  })
  await beck.hears(isAnswer)
  const postgres = await postgresPid(elsewhere)
  beck.child.kill('SIGUSR2')
  // Not by its own exit, where Node may hang with the folder still locked.
  assert.equal(await beck.ended, null)
  assert.equal(beck.child.signalCode, 'SIGKILL')
  await beck.complains('what it was doing is taken up at the next start')
  await until('PostgreSQL has ended', async () => !isAlive(postgres))
  await until('the signer has ended', async () => {
    try {
      lockDirectory(join(elsewhere, 'signer'), 'tool').release()
      return true
    } catch (error) {
      assert.ok(error instanceof DirectoryInUse, String(error))
      return false
    }
  })
})

test('a start under another secret key is refused, and says what to put back', async () => {
  await running.stop()
  const other = startBeckProcess(['start'], { ...(await settings()), BECK_SECRET_KEY: 'ab'.repeat(32) })
  assert.equal(await other.ended, 1)
  await other.complains('put back the secret.key')
  running = startBeckProcess(['start'], await settings())
  await running.hears(isAnswer)
})

test('Ctrl-C at npm start, which goes to Beck and to npm that passes it on, ends in order', async () => {
  await running.stop()
  const env = await settings()
  const npm = spawn('npm', ['start', '--silent', '--', '--json'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const group = -(npm.pid ?? assert.fail('npm runs'))
  after(() => npm.exitCode === null && process.kill(group, 'SIGKILL'))
  let logged = ''
  npm.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text
  })
  const ended = once(npm, 'close')
  await once(npm.stdout, 'data')
  // It answers before that, where another Beck saw the chains a moment ago.
  await until(
    'its process in the background runs',
    async () => (await startBeckProcess(['alive', '--role', 'watcher'], env).ended) === 0,
  )
  const postgres = await postgresPid(dataDir)
  process.kill(group, 'SIGINT')
  assert.deepEqual(await ended, [0, null])
  assert.equal(logged.match(/"msg":"closed"/g)?.length, 2, 'Beck and its process in the background')
  assert.equal(isAlive(postgres), false)

  running = startBeckProcess(['start'], await settings())
})

test('SIGTERM ends what runs first: every payment that was made was answered', async () => {
  const { url } = await running.hears(isAnswer)
  const postgres = await postgresPid(dataDir)
  const before = await countPayments(client(url))
  let answered = 0
  const askers = Array.from({ length: 4 }, async () => {
    try {
      for (;;) {
        await client(url).payments.create({ asset: 'BTC', fiat_amount: 1 })
        answered += 1
      }
    } catch (error) {
      assert.ok(error instanceof ConnectionError, String(error))
    }
  })
  await until('payments under way', async () => answered >= 20)
  await running.stop()
  await Promise.all(askers)
  assert.equal(isAlive(postgres), false)

  const next = startBeckProcess(['start'], await settings())
  assert.equal(await countPayments(client((await next.hears(isAnswer)).url)), before + answered)
  await next.stop()
})

test('with a node of its own, role all says at its start what it does not separate', async () => {
  const [dataDir, DATABASE_URL, BECK_SECRET_KEY] = [await folder(), await testDatabaseUrl(), 'cd'.repeat(32)]
  const started = async (more: Record<string, string>) => {
    const beck = startBeckProcess(['start'], {
      ...(await settings()),
      BECK_DATA_DIR: dataDir,
      BECK_SECRET_KEY,
      DATABASE_URL,
      ...more,
    })
    await beck.hears(isAnswer)
    await beck.stop()
    return beck.log()
  }
  const said =
    /role all: server and signer are one user of this machine, so whoever takes over the server can read the keystore and its passphrase, and the signer’s limits do not bind him/
  const node = { LITECOIN_RPC_URL: 'http://127.0.0.1:9', LITECOIN_NETWORK: 'regtest' }
  assert.match(await started(node), said)
  assert.doesNotMatch(await started({}), said)
})

test('a start into the journal makes no account, no key and no link, and a command shows the link', async () => {
  const url = await testDatabaseUrl({ template: null })
  const db = openDatabase({ url, connectionsMax: 1 })
  after(() => db.close())
  const env = {
    DATABASE_URL: url,
    BECK_SECRET_KEY: 'ab'.repeat(32),
    BECK_DATA_DIR: await folder(),
    PORT: String(await freePort()),
  }
  const file = join(await folder(), 'journal')
  const journal = await open(file, 'a')
  const { dev, ino } = await journal.stat({ bigint: true })
  const service = spawn(process.execPath, ['src/cli/beck.ts', 'start'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, JOURNAL_STREAM: `${dev}:${ino}`, ...env },
    stdio: ['ignore', journal.fd, journal.fd],
  })
  await journal.close()
  after(() => service.kill('SIGKILL'))
  const kept = () => readFile(file, 'utf8')
  await until('it says that it is ready', async () =>
    /Nobody has a sign-in yet: npx beck users first/.test(await kept()),
  )
  assert.match(await kept(), /\/dashboard\n/)
  const { rows } = await db.query(
    `select (select count(*) from accounts)::int as accounts, (select count(*) from api_keys)::int as keys,
       (select count(*) from invitations)::int as links`,
  )
  assert.deepEqual(rows[0], { accounts: 0, keys: 0, links: 0 })

  const first = async () => {
    const command = startBeckProcess(['users', 'first'], env)
    await command.ended
    return String(command.said[0]?.link)
  }
  const [old, link] = [await first(), await first()]
  assert.equal((await fetch(old)).status, 404, 'each voids the one before')
  assert.equal((await fetch(link)).status, 200)
  assert.doesNotMatch(await kept(), /bk_(test|live)_|\/join\/(?!:token)/, 'its log keeps no secret')
  await db.transaction((tx) =>
    insertUser(tx, { email: 'ann@example.com', name: 'Ann', passwordHash: null, isOperator: true }),
  )
  const late = startBeckProcess(['users', 'first'], env)
  assert.equal(await late.ended, 1)
  assert.match(JSON.stringify(late.said), /somebody_there/)
  const ended = once(service, 'exit')
  service.kill('SIGTERM')
  await ended
})

for (const [where, role, shows] of [
  ['a container’s log', 'api', false],
  ['a pipe', 'all', true],
] as const)
  test(`a first start of role ${role} into ${where} shows ${shows ? 'a test key and a link' : 'neither key nor link, and makes none'}`, async () => {
    const url = await testDatabaseUrl({ template: null })
    const db = openDatabase({ url, connectionsMax: 1 })
    after(() => db.close())
    const child = spawn(process.execPath, ['src/cli/beck.ts', 'start', '--role', role], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        DATABASE_URL: url,
        BECK_SECRET_KEY: 'ab'.repeat(32),
        BECK_DATA_DIR: await folder(),
        BECK_METRICS_PORT: '0',
        PORT: String(await freePort()),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    after(() => child.kill('SIGKILL'))
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    const end = shows ? /BECK_FEE_BPS and/ : /npx beck users first shows the link/
    await until('it says what is ready', async () => end.test(said))
    const shown = { key: /bk_test_\w+/.test(said), link: /\/dashboard\/join\/(?!:token)/.test(said) }
    assert.deepEqual(shown, { key: shows, link: shows }, said)
    const { rows } = await db.query(
      `select (select count(*) from api_keys)::int as keys, (select count(*) from invitations)::int as links`,
    )
    assert.deepEqual(rows[0], { keys: Number(shows), links: Number(shows) })
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  })
