/** `beck doctor` as people run it, on real nodes: it names what is wrong, says what to do, and never shows a secret. */
import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { startAnvil } from '../anvil.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { startNode } from '../litecoind.ts'
import { until } from '../wait-for.ts'

interface Finding {
  readonly about: string
  readonly state: string
  readonly message: string
  readonly advice?: string
}

const dataDir = await mkdtemp(join(tmpdir(), 'beck-doctor-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const settings = {
  DATABASE_URL: await testDatabaseUrl({ template: null }),
  BECK_SECRET_KEY: Buffer.alloc(32, 5).toString('hex'),
  BECK_DATA_DIR: dataDir,
}

/** @returns What it said about each thing, and how it ended. */
async function diagnose(more: Record<string, string> = {}) {
  const doctor = startBeckProcess(['doctor'], { ...settings, ...more })
  const code = await doctor.ended
  const [answer = assert.fail('it said nothing')] = doctor.said
  const findings = new Map((answer.findings as Finding[]).map((finding) => [finding.about, finding]))
  const about = (name: string): Finding => findings.get(name) ?? assert.fail(`nothing about ${name}`)
  for (const { state, advice } of findings.values()) assert.equal(advice === undefined, state === 'fine')
  return { code, about, knows: (name: string) => findings.has(name), text: JSON.stringify(answer) }
}

test('settings that cannot be used are listed, and nothing else is looked at', async () => {
  const { code, about, text } = await diagnose({ PORT: 'http', REDIS_URL: 'mysql://me:s3cret@x' })
  assert.equal(code, 1)
  assert.match(about('settings').message, /PORT is "http".*REDIS_URL/s)
  assert.doesNotMatch(text, /s3cret/)
})

test('a database without its tables is sent to be migrated, and is well after that', async () => {
  const before = await diagnose()
  assert.equal(before.code, 1)
  assert.match(before.about('migrations').advice ?? '', /beck migrate/)
  assert.equal(await startBeckProcess(['migrate'], settings).ended, 0)
  const { code, about } = await diagnose({ BECK_PUBLIC_URI: 'https://pay.example.com' })
  assert.equal(code, 0)
  for (const name of [
    'node',
    'disk',
    'database',
    'clock',
    'migrations',
    'secret key',
    'keystore',
    'rates',
    'alerts',
  ])
    assert.equal(about(name).state, 'fine', name)
  assert.match(about('settings').message, /BECK_PUBLIC_URI means nothing/)
})

test('a keystore that others can read, a passphrase that is not there and missing limits are named', async () => {
  await writeFile(join(dataDir, 'keystore.json'), '{}', { mode: 0o644 })
  const { about } = await diagnose({ BECK_KEYSTORE_PASSPHRASE_FILE: join(dataDir, 'none') })
  assert.match(about('keystore').advice ?? '', /chmod 600/)
  assert.equal(about('passphrase').state, 'wrong')
  assert.match(about('limits').advice ?? '', /BTC=tx:1/)
  // Limits of one coin bound no other, and one per payout bounds none.
  const some = await diagnose({ BECK_SIGNER_LIMITS: 'BTC=tx:1,day:5;ETH=tx:1' })
  assert.equal(some.about('limits').state, 'warning')
  assert.match(some.about('limits').message, /gives LTC, ETH, USDC, USDT no limit/)
  await rm(join(dataDir, 'keystore.json'))
})

test('the keystore is opened: its passphrase is right, wrong, or open to everybody', async () => {
  const passphrase = join(dataDir, 'passphrase')
  await writeFile(passphrase, 'correct horse battery\n', { mode: 0o600 })
  const env = { BECK_KEYSTORE_PASSPHRASE_FILE: passphrase }
  assert.equal(await startBeckProcess(['wallet', 'init'], { ...settings, ...env }).ended, 0)
  const right = await diagnose(env)
  assert.deepEqual([right.code, right.about('passphrase').state], [0, 'fine'])
  assert.match(right.about('passphrase').message, /opens the keystore/)

  const wrong = await diagnose({ BECK_KEYSTORE_PASSPHRASE: 'another horse battery' })
  assert.deepEqual([wrong.code, wrong.about('passphrase').state], [1, 'wrong'])
  assert.match(wrong.about('passphrase').message, /does not open/)
  assert.doesNotMatch(wrong.text, /another horse/)

  await chmod(passphrase, 0o644)
  assert.match((await diagnose(env)).about('passphrase').advice ?? '', /chmod 600/)
  await rm(join(dataDir, 'keystore.json'))
})

test("another keystore than the published wallets' is named", async () => {
  const env = { BECK_KEYSTORE_PASSPHRASE: 'correct horse battery' }
  const elsewhere = { ...settings, ...env, BECK_DATA_DIR: join(dataDir, 'elsewhere') }
  assert.equal(await startBeckProcess(['wallet', 'init', '--replace'], { ...settings, ...env }).ended, 0)
  assert.equal(await startBeckProcess(['wallet', 'init', '--replace'], elsewhere).ended, 0)
  assert.match(
    (await diagnose(env)).about('passphrase').message,
    /bitcoin, litecoin, ethereum belong to another/,
  )
  await rm(join(dataDir, 'keystore.json'))
})

test('a node on another network, a dead one and a contract that is no token are told apart', async () => {
  const [litecoin, anvil] = await Promise.all([startNode({ wallet: false }), startAnvil()])
  const usdc = await anvil.deploy('UsdCoin')
  const { code, about, text } = await diagnose({
    LITECOIN_RPC_URL: litecoin.rpcUrl,
    LITECOIN_NETWORK: 'mainnet',
    BITCOIN_RPC_URL: 'http://me:s3cret@127.0.0.1:9',
    ETHEREUM_RPC_URL: anvil.url,
    ETHEREUM_NETWORK: 'dev',
    USDC_CONTRACT: usdc,
  })
  assert.equal(code, 1)
  assert.equal(about('litecoin node').state, 'wrong')
  assert.match(about('litecoin node').message, /wrong chain/)
  assert.match(about('bitcoin node').message, /cannot be reached/)
  assert.equal(about('ethereum node').state, 'fine')
  assert.equal(about('USDC').state, 'fine')
  assert.match(about('USDT').message, /no token of 6 decimals on dev/)
  assert.match(about('ethereum').advice ?? '', /watcher/)
  assert.match(about('keystore').advice ?? '', /^start the signer where its keystore is/)
  assert.doesNotMatch(text, /s3cret/)
  assert.ok(!text.includes(encodeURIComponent(litecoin.password)))

  // What a server and its signer as one user do not separate, where the words are within that user's reach.
  const withNode = { LITECOIN_RPC_URL: litecoin.rpcUrl, LITECOIN_NETWORK: 'regtest' }
  const words = { BECK_KEYSTORE_PASSPHRASE: 'correct horse battery' }
  assert.equal(await startBeckProcess(['wallet', 'init', '--replace'], { ...settings, ...words }).ended, 0)
  const together = await diagnose({ ...withNode, ...words })
  assert.equal(together.about('signer').state, 'warning')
  assert.match(together.about('signer').message, /whoever takes over the server takes the words/)
  assert.match(together.about('signer').advice ?? '', /a user of its own, better on a machine of its own/)
  for (const apart of [withNode, words]) assert.equal((await diagnose(apart)).knows('signer'), false)
  await rm(join(dataDir, 'keystore.json'))

  const well = await diagnose({ LITECOIN_RPC_URL: litecoin.rpcUrl, LITECOIN_NETWORK: 'regtest' })
  assert.deepEqual([well.code, well.about('litecoin node').state], [0, 'fine'])

  await litecoin.stop()
  await litecoin.start('-blocksonly')
  const deaf = await diagnose({ LITECOIN_RPC_URL: litecoin.rpcUrl, LITECOIN_NETWORK: 'regtest' })
  assert.deepEqual([deaf.code, deaf.about('litecoin node').state], [0, 'warning'])
  assert.match(deaf.about('litecoin node').message, /relays blocks only/)
})

test('where live accounts want a keystore, a signer that has none says so, until it is made', async () => {
  const own = {
    ...settings,
    DATABASE_URL: await testDatabaseUrl({ template: null }),
    BECK_DATA_DIR: join(dataDir, 'live'),
    BECK_RATES: 'fixed:BTC/USD=65000,LTC/USD=100,ETH/USD=2500,USDC/USD=1,USDT/USD=1,EUR/USD=1.08',
  }
  const beck = (...args: string[]) =>
    startBeckProcess(args, { ...own, BECK_KEYSTORE_PASSPHRASE: 'correct horse battery' })
  const concern = async () => {
    const { findings } = JSON.parse((await diagnose(own)).text) as { findings: Finding[] }
    return findings.find(({ about }) => about.startsWith('signer of'))?.message ?? ''
  }
  assert.equal(await beck('migrate').ended, 0)
  const shop = ['--name', 'Shop', '--email', 'shop@example.com', '--mode', 'live']
  assert.equal(await beck('accounts', 'create', ...shop).ended, 0)
  const none = (await diagnose(own)).about('keystore')
  assert.deepEqual(
    [none.state, none.advice],
    ['warning', 'where the signer is to run, run: npx beck wallet init'],
  )

  const signer = beck('start', '--role', 'signer')
  await until('the signer says that it lacks a keystore', async () =>
    /no keystore at .*live accounts cannot be paid until npx beck wallet init/.test(await concern()),
  )
  const still = (await diagnose(own)).about('keystore')
  assert.equal(still.state, 'warning', 'a signer without keys pays nobody')
  assert.equal(await beck('wallet', 'init').ended, 0)
  await until('the signer has its keys', async () => !/no keystore/.test(await concern()))
  await signer.stop()

  // The file is gone and the wallet is published: a second wallet would leave its coins behind.
  await rm(join(own.BECK_DATA_DIR, 'keystore.json'))
  const again = beck('start', '--role', 'signer')
  await until('the signer says whose keys it lacks', async () =>
    /no keystore at .*live wallets are published/.test(await concern()),
  )
  await again.stop()
  await until('nobody is taken for the signer', async () => {
    const { state, advice } = (await diagnose(own)).about('keystore')
    return state === 'warning' && /^start the signer where its keystore is/.test(advice ?? '')
  })
})
