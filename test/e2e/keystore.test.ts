/** The keystore as its operator meets it: words that are shown whatever fails, passphrases that are wrong. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { openDatabase } from '../../src/db/database.ts'
import { startBeckProcess } from '../beck-process.ts'
import { testDatabaseUrl } from '../database.ts'
import { waitFor } from '../wait-for.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'beck-keystore-'))
after(() => rm(dataDir, { recursive: true, force: true, maxRetries: 9 }))
const url = await testDatabaseUrl()
const settings = {
  DATABASE_URL: url,
  BECK_SECRET_KEY: Buffer.alloc(32, 5).toString('hex'),
  BECK_DATA_DIR: dataDir,
  BECK_KEYSTORE_PASSPHRASE: 'correct horse battery',
}

test('the 24 words are shown even when the wallets cannot be published', async () => {
  const db = openDatabase({ url, connectionsMax: 1 })
  await db.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'not now'; end $$`,
  )
  await db.query('create trigger refuse before insert on wallets for each row execute function refuse()')
  const init = startBeckProcess(['wallet', 'init'], settings)
  assert.equal(await init.ended, 1)
  const [{ words } = assert.fail('it said nothing')] = init.said
  assert.equal(String(words).split(' ').length, 24)
  await init.complains('not now')
  await db.query('drop trigger refuse on wallets')
  await db.close()
})

test('where its keystore is, another init says so, and not that the wallet has other words', async () => {
  const again = startBeckProcess(['wallet', 'init'], settings)
  assert.equal(await again.ended, 1)
  await again.complains('there is a keystore at')
  assert.doesNotMatch(again.log(), /other words/)
})

test('who reads no further than a line is shown no trace of it', async () => {
  const { stdout, stderr } = await promisify(execFile)(
    'sh',
    ['-c', '"$0" src/cli/beck.ts doctor | head -n 1', process.execPath],
    { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings } },
  )
  assert.match(stdout, /ok +node/)
  assert.equal(stderr, '')
})

test('settings with spaces mean the same to the signer as to the server, and it opens the keystore', async () => {
  const signer = startBeckProcess(['start', '--role', 'signer'], {
    ...settings,
    BECK_CONFIRMATIONS: ' BTC = 3 , LTC=1',
    BITCOIN_NETWORK: ' regtest ',
    BECK_SIGNER_ALLOWLIST_HOURS: ' 24 ',
  })
  await signer.complains('"keys are loaded"')
  await signer.stop()
})

test('a wrong passphrase is told once, and test accounts are signed for all the same', async () => {
  const signer = startBeckProcess(['start', '--role', 'signer'], {
    ...settings,
    BECK_KEYSTORE_PASSPHRASE: 'another horse battery',
  })
  await signer.complains('does not open: the passphrase is another one')
  await signer.complains('no live keys: test accounts only')
  await signer.stop()
})

test('a broken journal of test accounts stops no live payout: the signer goes on with its live keys', async () => {
  const journal = join(dataDir, 'signer', 'journal-simulated')
  await mkdir(join(dataDir, 'signer'), { recursive: true, mode: 0o700 })
  await writeFile(journal, 'no journal\nnor is this\n')
  const signer = startBeckProcess(['start', '--role', 'signer'], settings)
  await signer.complains('simulated chains cannot be signed for; live ones go on')
  await signer.complains('"keys are loaded"')
  await signer.complains('"side":"live"')
  assert.doesNotMatch(signer.log(), /"side":"simulated"/)
  await signer.stop()
  await rm(journal)
})

test('limits that cannot be read are refused at the start', async () => {
  const start = startBeckProcess(['start', '--role', 'signer'], { ...settings, BECK_SIGNER_LIMITS: 'BTC=1' })
  assert.equal(await start.ended, 1)
  await start.complains('BECK_SIGNER_LIMITS is "BTC=1", expected limits in whole coins')
})

test('a second wallet does not silently take the place of the live one: whose words differ is refused, with what to do', async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'beck-keystore-'))
  after(() => rm(elsewhere, { recursive: true, force: true, maxRetries: 9 }))
  const there = { ...settings, BITCOIN_NETWORK: 'regtest', BECK_DATA_DIR: elsewhere }
  const db = openDatabase({ url, connectionsMax: 1 })
  const wallets = async () =>
    (await db.query('select chain, series, retired_at from wallets order by chain, series')).rows
  const first = startBeckProcess(['start', '--role', 'signer'], { ...settings, BITCOIN_NETWORK: 'regtest' })
  await first.complains('"keys are loaded"')
  await first.stop()
  const before = await wallets()
  assert.ok(before.length > 0)
  const second = startBeckProcess(['wallet', 'init'], there)
  assert.equal(await second.ended, 1)
  await second.complains('has a live wallet')
  assert.deepEqual(await wallets(), before)
  await db.close()
})

test('a signer that is set to another network leaves the live wallet as it is, and says so to the operator', async () => {
  const db = openDatabase({ url, connectionsMax: 1 })
  const current = async () =>
    (
      await db.query<{ chain: string; network: string }>(
        'select chain, network, series from wallets where retired_at is null order by chain',
      )
    ).rows
  const before = await current()
  assert.equal(before.find(({ chain }) => chain === 'litecoin')?.network, 'mainnet')
  const wrong = {
    ...settings,
    BITCOIN_NETWORK: 'regtest',
    LITECOIN_NETWORK: 'testnet',
    ETHEREUM_NETWORK: 'sepolia',
  }
  const signer = startBeckProcess(['start', '--role', 'signer'], wrong)
  await signer.complains('"keys are loaded"')
  assert.deepEqual(await current(), before)
  const concerns = await waitFor('concerns of both wallets', async () => {
    const { rows } = await db.query<{ concerns: string[] }>(
      `select concerns from running_roles where role = 'signer' and array_length(concerns, 1) > 0`,
    )
    const said = rows.flatMap((row) => row.concerns)
    return said.length > 1 ? said.join('; ') : null
  })
  assert.match(concerns, /wallet of litecoin is of mainnet, and LITECOIN_NETWORK=testnet is testnet/)
  assert.match(concerns, /wallet of ethereum is of mainnet, and ETHEREUM_NETWORK=sepolia is testnet/)
  assert.doesNotMatch(concerns, /wallet of bitcoin/)
  await signer.stop()

  const elsewhere = await mkdtemp(join(tmpdir(), 'beck-keystore-'))
  after(() => rm(elsewhere, { recursive: true, force: true, maxRetries: 9 }))
  const there = { ...wrong, BECK_DATA_DIR: elsewhere }
  const init = startBeckProcess(['wallet', 'init'], there)
  assert.equal(await init.ended, 1)
  await init.complains('LITECOIN_NETWORK=testnet')
  assert.deepEqual(await current(), before)
  assert.equal(await startBeckProcess(['wallet', 'init', '--replace'], there).ended, 0)
  assert.deepEqual(
    (await current()).filter(({ network }) => network === 'mainnet'),
    [],
    'only --replace retires',
  )
  await db.close()
})

test('while two secret keys are accepted, the words bring the wallet to another machine', async () => {
  const ofDatabase = { ...settings, DATABASE_URL: await testDatabaseUrl() }
  const folder = async () => {
    const made = await mkdtemp(join(tmpdir(), 'beck-keystore-'))
    after(() => rm(made, { recursive: true, force: true, maxRetries: 9 }))
    return made
  }
  const first = startBeckProcess(['wallet', 'init'], { ...ofDatabase, BECK_DATA_DIR: await folder() })
  const { words } = await first.hears((object) => 'words' in object)
  assert.equal(await first.ended, 0)
  const changing = {
    ...ofDatabase,
    BECK_SECRET_KEY: Buffer.alloc(32, 6).toString('hex'),
    BECK_SECRET_KEY_ALSO: settings.BECK_SECRET_KEY,
  }
  const other = startBeckProcess(['wallet', 'init'], { ...changing, BECK_DATA_DIR: await folder() })
  assert.equal(await other.ended, 1)
  await other.complains('made from other words')
  const restoring = promisify(execFile)(
    process.execPath,
    ['src/cli/beck.ts', 'wallet', 'init', '--restore'],
    {
      env: { PATH: process.env.PATH, ...changing, BECK_DATA_DIR: await folder() },
    },
  )
  restoring.child.stdin?.end(`${words}\n`)
  assert.match((await restoring).stdout, /litecoin \(mainnet\)/)
})

/** A command of the wallet as people type it. */
const wallet = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['src/cli/beck.ts', 'wallet', ...args], {
    env: { PATH: process.env.PATH, ...settings },
  }).then(
    ({ stdout }) => stdout,
    ({ stderr }) => `refused: ${stderr}`,
  )

test('the passphrase is changed in one step: the old one opens nothing any more, and a weak one changes nothing', async () => {
  const next = join(dataDir, 'next-passphrase')
  await writeFile(next, 'short\n', { mode: 0o600 })
  assert.match(await wallet('passphrase', next), /refused: .*expected 12 or more/)
  await writeFile(next, 'a better horse battery\n')
  assert.match(await wallet('passphrase', next), /opens with the passphrase in .*next-passphrase/)
  assert.match(await wallet('passphrase', next), /refused: .*does not open/)
  const { BECK_KEYSTORE_PASSPHRASE: _, ...others } = settings
  const signer = startBeckProcess(['start', '--role', 'signer'], {
    ...others,
    BECK_KEYSTORE_PASSPHRASE_FILE: next,
  })
  await signer.complains('"keys are loaded"')
  await signer.stop()
})

test('the allowlist is shown, and an address taken off it', async () => {
  const address = `0x${'ab'.repeat(20)}`
  assert.match(await wallet('allowed'), /is empty/)
  assert.match(await wallet('allow', 'ethereum', address), /is on the ethereum allowlist/)
  assert.match(await wallet('allowed'), new RegExp(`^ethereum +20\\d\\d-.*Z +${address}$`, 'm'))
  const named = { network: 'ethereum', address }
  assert.deepEqual(JSON.parse(await wallet('disallow', 'ethereum', address, '--json')), { disallowed: named })
  assert.deepEqual(JSON.parse(await wallet('allow', 'ethereum', address, '--json')), { allowed: named })
  assert.match(await wallet('disallow', 'ethereum', address), /is off the ethereum allowlist/)
  assert.match(await wallet('allowed'), /is empty/)
  assert.match(await wallet('disallow', 'ethereum', address), /refused: .*is not on the ethereum allowlist/)
})
