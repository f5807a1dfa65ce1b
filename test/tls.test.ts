/**
 * TLS to PostgreSQL and to nodes, with real certificates: the right one is taken; another authority's, another host's, or one
 * whose time is over is not, and neither is a TLS of the nineties.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chown, copyFile, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { connect, type SecureContextOptions } from 'node:tls'
import { promisify } from 'node:util'
import { type Database, openDatabase } from '../src/db/database.ts'
import { startCluster } from '../src/db/embedded/embedded.ts'
import { startBeckProcess } from './beck-process.ts'
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
  // As an operator's command line goes that way.
  const migrated = await runMigrate(secured(ours.file))
  assert.deepEqual([migrated.code, migrated.said.length], [0, 1])
  const refused = await runMigrate(secured(other.file))
  assert.equal(refused.code, 1)
  assert.match(JSON.stringify(refused.said), /certificate/)

  await assert.rejects(isEncrypted(secured(other.file)), causedBy(/certificate/))
  const isRefused = (what: string, why: RegExp) =>
    waitFor(what, () =>
      isEncrypted(secured(ours.file)).then(
        () => null,
        (error: unknown) => causedBy(why)(error) || null,
      ),
    )
  await presentCertificate(admin, await ours.issue('DNS:elsewhere.example'))
  await isRefused('the wrong host is refused', /altnames|IP|Host/)
  await presentCertificate(admin, await ours.issue('DNS:localhost,IP:127.0.0.1', -1))
  await isRefused('the certificate of yesterday is refused', /certificate has expired/)
  await admin.query("alter system set ssl = 'off'")
  await admin.query('select pg_reload_conf()')
  await isRefused('no way around: no TLS is no connection', /does not support SSL/)
})

async function runMigrate(databaseUrl: string): Promise<{ code: number | null; said: readonly object[] }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'beck-tls-command-'))
  after(() => rm(dataDir, { recursive: true, force: true }))
  const { ended, said } = startBeckProcess(['migrate'], {
    DATABASE_URL: databaseUrl,
    BECK_SECRET_KEY: Buffer.alloc(32, 5).toString('hex'),
    BECK_DATA_DIR: dataDir,
  })
  return { code: await ended, said }
}

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

async function startTlsNode(certificate: Certificate, options: SecureContextOptions = {}): Promise<number> {
  const server = createServer(
    { key: await readFile(certificate.key), cert: await readFile(certificate.certificate), ...options },
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
    const past = await startTlsNode(await ours.issue('DNS:localhost', -1))
    assert.equal(await askNode(ask(right), ours.file), 'answered')
    assert.doesNotMatch(await askNode(ask(right), null), /answered/, 'an authority nobody named')
    assert.doesNotMatch(await askNode(ask(right), other.file), /answered/, 'another authority')
    const refused = await askNode(ask(elsewhere), ours.file)
    assert.doesNotMatch(refused, /answered/, 'the certificate of another host')
    assert.match(refused, /ERR_TLS_CERT_ALTNAME_INVALID/, 'the operator is told why')
    const late = await askNode(ask(past), ours.file)
    assert.doesNotMatch(late, /answered/, 'a certificate of yesterday')
    assert.match(late, /CERT_HAS_EXPIRED|certificate has expired/, 'the operator is told why')
  })

test('no node is spoken to in a TLS before 1.2, or without a cipher', async () => {
  const right = await ours.issue('DNS:localhost')
  const ask = ASKS.bitcoin ?? assert.fail()
  // What OpenSSL offers only to who asks for it by name.
  const anything = 'ALL:eNULL:@SECLEVEL=0'
  for (const [what, options] of Object.entries({
    'TLS 1.1': { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: anything },
    'no cipher': { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2', ciphers: 'eNULL:@SECLEVEL=0' },
  } as const)) {
    const port = await startTlsNode(right, options)
    const lax = connect({ port, host: 'localhost', rejectUnauthorized: false, ...options })
    await once(lax, 'secureConnect')
    lax.destroy()
    const answer = await askNode(ask(port), ours.file)
    assert.doesNotMatch(answer, /answered/, what)
    assert.match(answer, /EPROTO|ssl|handshake/i, what)
  }
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const port = await startTlsNode(right, { minVersion: version, maxVersion: version })
    assert.equal(await askNode(ask(port), ours.file), 'answered', version)
  }
})
