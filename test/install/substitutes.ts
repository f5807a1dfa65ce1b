/**
 * What stands in, on the machine of this test, for what a test cannot have: a place where releases are fetched from, a name in
 * the world's DNS, an authority that everybody trusts, a chain with coins that are worth something, and a buyer. Nothing of
 * Beck and nothing of the guide's commands is replaced.
 */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Machine } from './bare-debian.ts'

const exec = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Where pebble, the authority, tells its root. */
export const AUTHORITY_FILE = '/root/authority.pem'

const HOST = 'srv/releases/beck.git'
const GIT =
  'git -c user.name=Test -c user.email=test@example.com -c init.defaultBranch=main -c tag.gpgSign=false'

/** Types it in the git host's repository. */
async function onHost({ root }: Machine, script: string): Promise<void> {
  const place = join(root, HOST)
  await mkdir(place, { recursive: true })
  await exec('bash', ['-euo', 'pipefail', '-c', `place=$0; ${script}`, place], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, HOME: place },
  })
  await exec('chown', ['--recursive', 'root:root', place])
}

/** For the git host: a repository on the machine's disk with one commit, this working copy. There is no release yet. */
export async function mainOnDisk(machine: Machine): Promise<void> {
  await onHost(
    machine,
    `git ls-files --cached --others --exclude-standard -z | tar --create --null --ignore-failed-read --files-from - | tar --extract --directory "$place"
     cd "$place" && ${GIT} init --quiet && ${GIT} add . && ${GIT} commit --quiet --message main`,
  )
  const { root } = machine
  await writeFile(
    join(root, 'etc/gitconfig'),
    '[url "file:///srv/releases/"]\n  insteadOf = https://your.host/\n',
  )
}

/** A release with a table more, and one commit of `main` behind it that nobody may install: it has no program. */
export const releaseOnDisk = (machine: Machine, version: string): Promise<void> =>
  onHost(
    machine,
    `cd "$place"
     sed -i '0,/"version": "[^"]*"/s//"version": "${version}"/' package.json
     echo 'create table expansion (id uuid primary key);' > src/db/migrations/9999-expansion.sql
     ${GIT} add . && ${GIT} commit --quiet --message release && ${GIT} tag --annotate --message release v${version}
     git rm --quiet -r src && ${GIT} commit --quiet --message unfinished`,
  )

/** For DNS: the machine itself knows its name. */
export const nameOfItsOwn = ({ run }: Machine): Promise<string> =>
  run('echo "127.0.0.1 your.name" >> /etc/hosts')

/**
 * For Let's Encrypt: pebble, its own authority for tests, on the machine. certbot asks it as it asks the real one, and it
 * looks at port 80 of the name as the real one does. certbot's questions (an address, the terms) are answered by a file.
 *
 * @returns What the shell has to know in which certbot is called.
 */
export async function authorityOfItsOwn({ run }: Machine): Promise<string> {
  await run(`apt-get install --yes pebble curl
mkdir /root/pebble && cd /root/pebble
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \\
  -addext subjectAltName=DNS:localhost -keyout key.pem -out certificate.pem
cat > config.json <<end
{ "pebble": { "listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000", "certificate": "certificate.pem",
  "privateKey": "key.pem", "httpPort": 80, "tlsPort": 443 } }
end
systemd-run --quiet --unit=authority --working-directory=/root/pebble --setenv=PEBBLE_VA_NOSLEEP=1 --setenv=PEBBLE_WFE_NONCEREJECT=0 pebble -config config.json
printf '%s\\n' 'server = https://localhost:14000/dir' 'agree-tos = true' 'register-unsafely-without-email = true' > /etc/letsencrypt/cli.ini
timeout 60 sh -c 'until curl --silent --fail --cacert certificate.pem https://localhost:15000/roots/0 > ${AUTHORITY_FILE}; do sleep 0.2; done'`)
  return 'export REQUESTS_CA_BUNDLE=/root/pebble/certificate.pem'
}

/** For the main network: a chain whose blocks the buyer makes, on the ports of the main one. */
export const CHAIN_OF_ITS_OWN = `printf '%s\\n' 'chain=regtest' '[regtest]' 'rpcport=9332' 'port=9333' >> /etc/litecoin/litecoin.conf
systemctl restart litecoind`

/** For the market, which has no price for such coins; receivers of webhooks are on this machine. */
export const SETTINGS_OF_ITS_OWN = `for role in beck signer; do echo LITECOIN_NETWORK=regtest >> /etc/beck/$role.env; done
printf '%s\\n' BECK_RATES=fixed:LTC/USD=100,EUR/USD=1.10 BECK_WEBHOOK_ALLOW_PRIVATE=1 >> /etc/beck/beck.env`

/** The buyer, with a node and a wallet of his own beside the gateway's node. */
export const startBuyer = ({ run }: Machine): Promise<string> =>
  run(`mkdir --parents /root/buyer && cd /root/buyer
systemd-run --quiet --unit=buyer --setenv=HOME=/root litecoind -datadir=/root/buyer -regtest -port=29333 -rpcport=29332 -rpcuser=buyer -rpcpassword=buyer \\
  -connect=127.0.0.1:9333 -fallbackfee=0.0001 -printtoconsole=0
timeout 60 sh -c 'until litecoin-cli -regtest -rpcport=29332 -rpcuser=buyer -rpcpassword=buyer getblockchaininfo; do sleep 0.2; done'
test ! -d regtest/wallets/buyer || litecoin-cli -regtest -rpcport=29332 -rpcuser=buyer -rpcpassword=buyer loadwallet buyer || true`)
