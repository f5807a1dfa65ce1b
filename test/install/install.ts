/**
 * `npm run test:install`: docs/single-machine.md, typed word for word by somebody who has a bare Debian and nothing else, up to a
 * live payment that is paid, booked, told, paid out, backed up and restored, and docs/upgrade.md up to a newer version. What stands in for the world is in substitutes.ts.
 *
 * It needs root, some 4 GB of disk, Debian's mirrors and npm's registry. BARE_DEBIAN=FOLDER names a bare Debian 13 that is there.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { until } from '../wait-for.ts'
import { requireMachine, startMachine } from './bare-debian.ts'
import { readGuide, readUpgrade, type Step } from './guide.ts'
import {
  AUTHORITY_FILE,
  authorityOfItsOwn,
  CHAIN_OF_ITS_OWN,
  mainOnDisk,
  nameOfItsOwn,
  releaseOnDisk,
  SETTINGS_OF_ITS_OWN,
  startBuyer,
} from './substitutes.ts'

await requireMachine()
// A system's disk does not go where tests keep theirs, in memory.
const folder = await mkdtemp(join('/var/tmp', 'beck-install-'))
const machine = await startMachine(folder)
after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
const guide = await readGuide()
const shell = machine.shell()
/** What the guide leaves to its reader, by what stands there. */
const filledIn = new Map<string, string>()

const ROLES = ['api', 'worker', 'watcher', 'signer']
const SECRETS = [
  '/etc/beck/signer.env',
  '/etc/beck/owner.env',
  '/etc/beck/keystore-passphrase',
  '/var/lib/beck-signer/keystore.json',
  '/var/lib/beck-signer/signer/journal',
]

/** Types a step's blocks. @returns What each of them printed. */
async function follow(name: string, from = 0, to?: number): Promise<string[]> {
  const step = stepOf(name)
  const said: string[] = []
  for (const block of step.blocks.slice(from, to)) {
    typed.add(block)
    said.push(await shell.run(fill(block)))
  }
  return said
}
const typed = new Set<string>()

function stepOf(name: string): Step {
  return guide.find((step) => step.name === name) ?? assert.fail(`the guide has no step "${name}"`)
}

function fill(block: string): string {
  let text = block
  for (const [there, instead] of filledIn) text = text.replaceAll(there, instead)
  return text
}

/** The part of the tests that types no step of the guide: as root, in a shell of its own. */
const { run } = machine

test('on a bare Debian the guide ends with a gateway that is well, behind TLS', async () => {
  await mainOnDisk(machine)
  await nameOfItsOwn(machine)
  await follow('The program and its users')
  await follow('The settings')
  await shell.run(SETTINGS_OF_ITS_OWN)
  await follow('The database')
  const words = await follow('The command line, the tables, the wallet')
  assert.match(words.join(), /\b24 [a-z]+/, 'the words are shown')
  await follow('A node')
  await shell.run(CHAIN_OF_ITS_OWN)
  await startBuyer(machine)
  const services = await follow('The services')
  // On a chain without a market; of everything else there is nothing to see to.
  assert.deepEqual(complaintsOf(services.join()), ['rates: fixed by BECK_RATES'])
  await shell.run(await authorityOfItsOwn(machine))
  await follow('The way in')
  assert.match(await run(`curl --silent --cacert ${AUTHORITY_FILE} https://your.name/livez`), /"alive"/)
  assert.match(
    await run(
      'REQUESTS_CA_BUNDLE=/root/pebble/certificate.pem certbot renew --dry-run --no-random-sleep-on-renew 2>&1',
    ),
    /succeeded/,
  )
})

test('a live payment is paid and told, and its money withdrawn, by the client over TLS', async () => {
  const said = await follow('An account, and what watches', 0, 1)
  const [account = assert.fail(said.join())] = /acct_\w+/.exec(said.join()) ?? []
  assert.match(said.join(), /https:\/\/your\.name\/dashboard\/join\//)
  filledIn.set('acct_…', account)
  assert.match((await follow('An account, and what watches', 1)).join(), /bk_live_/)
  const { key } = JSON.parse(
    await run(`beck --json keys create --account ${account} --name all --scopes all`),
  )
  apiKey = key
  assert.equal(await sell(), '{"payment":"completed","withdrawal":"completed"}')
})
let apiKey = ''

/** One payment and one payout by shop.ts, from the release that the guide fetched. */
async function sell(): Promise<string> {
  const settings = [
    `BECK_API_KEY=${apiKey}`,
    'BECK_API_URL=https://your.name/v1',
    'BUYER_URL=http://buyer:buyer@127.0.0.1:29332',
    `NODE_EXTRA_CA_CERTS=${AUTHORITY_FILE}`,
  ]
  const said = await run(
    `cd /opt/beck && ${settings.join(' ')} node_modules/node/bin/node test/install/shop.ts`,
  )
  await run('beck reconcile')
  return said.trim()
}

test('whoever is the server cannot read what is the signer’s, and the signer has no way out', async (t) => {
  const asServer = 'setpriv --reuid=beck --regid=beck --init-groups'
  for (const file of SECRETS) {
    await run(`test -s ${file}`)
    await fails(`${asServer} cat ${file}`)
  }
  const [server, signer] = await Promise.all(
    ['api', 'signer'].map(async (role) =>
      (await run(`systemctl show --value -p MainPID beck-${role}`)).trim(),
    ),
  )
  await fails(`${asServer} cat /proc/${signer}/environ`)
  await fails(`grep --text --quiet "$(cat /etc/beck/keystore-passphrase)" /proc/${signer}/environ`)
  const user = (pid?: string) => run(`stat --format=%U /proc/${pid}`)
  assert.deepEqual([(await user(server)).trim(), (await user(signer)).trim()], ['beck', 'beck-signer'])
  for (const unit of ['litecoind', ...ROLES.map((role) => `beck-${role}`)])
    await run(`systemd-analyze security --threshold=30 ${unit} && systemctl is-enabled ${unit}`)
  const denied = await run('systemctl show --value --property=IPAddressDeny beck-signer')
  assert.deepEqual(denied.trim().split(' ').sort(), ['0.0.0.0/0', '::/0'])
  // And the kernel holds it to that, as it holds nobody else, where it lets a container's systemd say so.
  await run(goesOut('worker', listsOf('worker')))
  if (await runs(goesOut('nobody', 'echo IPAddressDeny=any')))
    return t.diagnostic(
      'no unit of this machine is held to its list of addresses: only the list was looked at',
    )
  await fails(goesOut('signer', listsOf('signer')))
})

const listsOf = (role: string) => `systemctl show --property=User,IPAddressDeny,IPAddressAllow beck-${role}`

/**
 * A connection to Debian's mirror by a unit of its own; ends with 0 when it is there.
 *
 * @param settings - A command that prints what its unit says more.
 */
const goesOut = (name: string, settings: string) =>
  [
    `address=$(getent ahostsv4 deb.debian.org | awk 'NR == 1 { print $1 }')`,
    `{ printf '[Service]\nType=oneshot\n'; ${settings}; echo "ExecStart=/usr/bin/timeout 20 /usr/bin/bash -c 'exec 3<> /dev/tcp/$address/80'"; } > /run/systemd/system/goes-out-${name}.service`,
    'systemctl daemon-reload',
    `systemctl start goes-out-${name}`,
  ].join('; ')

/** Whether a command works. */
const runs = async (command: string) =>
  (await run(`if ${command}; then echo it worked; fi`)).includes('it worked')

/** A command that must not work. (`!` would not do: a shell with -e does not mind what it turns round.) */
const fails = (command: string) => run(`if ${command}; then echo it worked; exit 1; fi`)

test('after a reboot everything comes up by itself, and sells', async () => {
  const before = await mainPids()
  await run('systemctl restart beck.target')
  await until('each unit was started anew', async () => {
    const now = await mainPids()
    return now.every((pid, place) => pid !== '0' && pid !== before[place])
  })
  shell.end()
  await machine.reboot()
  await startBuyer(machine)
  await allRun()
  assert.equal(await sell(), '{"payment":"completed","withdrawal":"completed"}')
})

/** Of the units, in the order of `ROLES`; one that does not run has 0. */
const mainPids = (): Promise<string[]> =>
  Promise.all(ROLES.map(async (role) => (await run(`systemctl show --value -p MainPID beck-${role}`)).trim()))

async function allRun(): Promise<void> {
  for (const role of ROLES)
    await until(`${role} runs`, () =>
      run(`beck alive --role ${role}`).then(
        () => true,
        () => false,
      ),
    )
}

test('a backup is made, tried out, and restored into an empty database', async () => {
  await shell.run('cd /opt/beck')
  const key = await follow('Backups', 0, 1)
  const [recipient = assert.fail(key.join())] = /age1\w+/.exec(key.join()) ?? []
  filledIn.set('age1…', recipient)
  await follow('Backups', 1, 2)
  await run('systemctl start beck-backup')
  const name = (await run('ls /var/backups/beck')).trim()
  assert.match(name, /^\d{8}T\d{6}Z\.beck$/)
  filledIn.set('20260102T030405Z.beck', name)
  // As on the machine that has the key.
  const settings = `BECK_SECRET_KEY=$(sed -n 's/^BECK_SECRET_KEY=//p' /etc/beck/beck.env) BECK_DATA_DIR=/root/drill`
  await run(`cd /opt/beck && ${settings} npx beck drill /var/backups/beck/${name} --identity backup.key`)
  const before = await run('beck --json fees')
  await run('systemctl stop beck.target')
  await run(
    `runuser -u postgres -- psql --set ON_ERROR_STOP=1 -c 'drop database beck' -c 'create database beck owner beck_owner'`,
  )
  await follow('Backups', 2)
  await allRun()
  assert.equal(await run('beck --json fees'), before)
  assert.equal(await sell(), '{"payment":"completed","withdrawal":"completed"}')
})

test('the first release is taken by the commands of an upgrade, though main went on', async () => {
  await releaseOnDisk(machine, '7.8.9')
  const [before = '', ...rest] = await readUpgrade()
  await shell.run(before)
  const said: string[] = []
  for (const block of rest) said.push(await shell.run(block))
  assert.match(said.join(), /9999-expansion\.sql/)
  assert.deepEqual(complaintsOf(said.join()), ['rates: fixed by BECK_RATES'])
  assert.equal((await run('beck --version')).trim(), '7.8.9')
  assert.equal((await run('git -C /opt/beck describe --tags')).trim(), 'v7.8.9')
  assert.equal(await sell(), '{"payment":"completed","withdrawal":"completed"}')
})

test('every command of the guide was typed', () => {
  const left = guide.flatMap(({ blocks }) => blocks).filter((block) => !typed.has(block))
  assert.deepEqual(left, [])
  assert.equal(guide.length, 9)
})

/** What `beck doctor` wants seen to. */
const complaintsOf = (text: string): string[] =>
  [...text.matchAll(/^ *(?:look|WRONG|wrong) +(.*)$/gm)].map(([, complaint = '']) => complaint)
