/** TLS to PostgreSQL and to nodes, with real certificates: the right one is taken; another authority's, or another host's, is not. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chown, copyFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { promisify } from 'node:util'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { type Certificate, makeAuthority } from './certificates.ts'
import { waitFor } from './wait-for.ts'

const [ours, other] = [await makeAuthority(), await makeAuthority()]

test('sslmode=verify-full takes the right certificate, encrypted, and no other one', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-tls-'))
  const cluster = await startCluster({ dataDir })
  t.after(async () => {
    await cluster.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const plain = new URL(cluster.url('postgres'))
  const admin = openDatabase({ url: plain.href, connectionsMax: 1 })
  t.after(() => admin.close())
  await presentCertificate(admin, await ours.issue('DNS:localhost,IP:127.0.0.1'))

  const secured = (ca: string, host = plain.hostname) => {
    const url = new URL(plain)
    url.hostname = host
    url.search = new URLSearchParams({ sslmode: 'verify-full', sslrootcert: ca }).toString()
    return url.href
  }
  const isEncrypted = async (url: string) => {
    const db = openDatabase({ url, connectionsMax: 1 })
    try {
      const { rows } = await db.query<{ ssl: boolean }>(
        'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
      )
      return rows[0]?.ssl ?? false
    } finally {
      await db.close()
    }
  }
  // PostgreSQL takes up its certificate a moment after it was told to.
  await waitFor('it speaks TLS', () => isEncrypted(secured(ours.file)).catch(() => null))
  assert.equal(
    await isEncrypted(plain.href),
    false,
    'what is not asked for is not there: the guide says how to ask',
  )
  await assert.rejects(isEncrypted(secured(other.file)), causedBy(/certificate/))
  await presentCertificate(admin, await ours.issue('DNS:elsewhere.example'))
  await waitFor('the wrong host is refused', async () =>
    isEncrypted(secured(ours.file)).then(
      () => null,
      (error: unknown) => causedBy(/altnames|IP|Host/)(error) || null,
    ),
  )
  await admin.query("alter system set ssl = 'off'")
  await admin.query('select pg_reload_conf()')
  await waitFor('no way around: no TLS is no connection', async () =>
    isEncrypted(secured(ours.file)).then(
      () => null,
      (error: unknown) => causedBy(/does not support SSL/)(error) || null,
    ),
  )
})

async function presentCertificate(admin: Database, { key, certificate }: Certificate): Promise<void> {
  const { rows } = await admin.query<{ files: string }>(`select current_setting('data_directory') as files`)
  const files = rows[0]?.files ?? assert.fail()
  const { uid, gid } = await stat(files)
  for (const [from, to] of [
    [key, 'server.key'],
    [certificate, 'server.crt'],
  ] as const) {
    await copyFile(from, join(files, to))
    await chown(join(files, to), uid, gid)
  }
  await admin.query("alter system set ssl = 'on'")
  await admin.query('select pg_reload_conf()')
}

const causedBy = (text: RegExp) => (error: unknown) => {
  const said = [error, (error as Error).cause].map(String).join(' ')
  return text.test(said)
}

/** What a process that starts with an authority of its own, or without, hears of a node. */
async function askNode(program: string, authority: string | null): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: { PATH: process.env.PATH, ...(authority === null ? {} : { NODE_EXTRA_CA_CERTS: authority }) },
  })
  return stdout.trim()
}

async function startTlsNode(certificate: Certificate): Promise<number> {
  const server = createServer(
    { key: await readFile(certificate.key), cert: await readFile(certificate.certificate) },
    async (request, response) => {
      let body = ''
      for await (const chunk of request.setEncoding('utf8')) body += chunk
      const asked = JSON.parse(body)
      const answer = ({ id }: { id: number }) => ({
        jsonrpc: '2.0',
        id,
        result: 'answered',
        error: undefined,
      })
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(Array.isArray(asked) ? asked.map(answer) : answer(asked)))
    },
  )
  await new Promise<void>((resolve) => server.listen(0, resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const url = (path: string) => new URL(path, import.meta.url).href
/** How Beck asks a node of each kind. */
const ASKS: Readonly<Record<string, (port: number) => string>> = {
  bitcoin: (port) => `
    import { openCoreRpc } from '${url('../src/chains/bitcoin/rpc.ts')}'
    const rpc = openCoreRpc('https://user:password@localhost:${port}', 8332)
    await rpc.call('getblockcount').then(console.log, (e) => console.log(String(e), String(e.cause)))
    rpc.close()`,
  ethereum: (port) => `
    import { readNode } from '${url('../src/chains/ethereum/rpc.ts')}'
    import { openRpc } from '${url('../src/chains/json-rpc.ts')}'
    const rpc = openRpc(readNode('https://localhost:${port}/key', ['https:']))
    await rpc.call('eth_blockNumber', []).then(console.log, (e) => console.log(String(e), String(e.cause)))
    rpc.close()`,
}

for (const [network, ask] of Object.entries(ASKS))
  test(`a node of ${network} behind https is asked when its certificate is right, and only then`, async () => {
    const right = await startTlsNode(await ours.issue('DNS:localhost'))
    const elsewhere = await startTlsNode(await ours.issue('DNS:elsewhere.example'))
    assert.equal(await askNode(ask(right), ours.file), 'answered')
    assert.doesNotMatch(await askNode(ask(right), null), /answered/, 'an authority nobody named')
    assert.doesNotMatch(await askNode(ask(right), other.file), /answered/, 'another authority')
    const refused = await askNode(ask(elsewhere), ours.file)
    assert.doesNotMatch(refused, /answered/, 'the certificate of another host')
    assert.match(refused, /ERR_TLS_CERT_ALTNAME_INVALID/, 'the operator is told why')
  })
