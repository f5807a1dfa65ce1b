/** What docs/operators.md says about the nodes' configuration, held against the code. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { BITCOIN_NETWORKS } from '../../src/chains/bitcoin/networks.ts'

const guide = await readFile(new URL('../../docs/operators.md', import.meta.url), 'utf8')

test('the whitelist of methods is what the adapter of Bitcoin and Litecoin calls', async () => {
  const folder = new URL('../../src/chains/bitcoin/', import.meta.url)
  const called = new Set<string>()
  for (const name of await readdir(folder)) {
    if (name.endsWith('.test.ts')) continue
    const source = await readFile(new URL(name, folder), 'utf8')
    for (const [, method = ''] of source.matchAll(/(?:method: |rpc\.call\()'([a-z]+)'/g)) called.add(method)
  }
  const [, listed = ''] = /^rpcwhitelist=beck:(\S+)$/m.exec(guide) ?? []
  assert.deepEqual(listed.split(',').sort(), [...called].sort())
})

test('the ports that a node listens on are named', () => {
  for (const networks of Object.values(BITCOIN_NETWORKS))
    for (const { rpcPort } of Object.values(networks)) assert.match(guide, new RegExp(`\\b${rpcPort}\\b`))
})

test('what makes a line of rpcauth makes one that opens to its password', async () => {
  const [, block = ''] = /```sh\n( +PASSWORD=[^`]*)```/.exec(guide) ?? []
  const { stdout } = await promisify(execFile)('bash', ['-euc', block])
  const [, salt = '', hash, password = ''] =
    /^rpcauth=beck:([0-9a-f]{32})\$([0-9a-f]{64})\n([0-9a-f]{48})\n$/.exec(stdout) ?? assert.fail(stdout)
  // As Bitcoin Core's share/rpcauth computes it.
  assert.equal(createHmac('sha256', salt).update(password).digest('hex'), hash)
})

test('whomever a setting makes Beck talk to is in the list of whom it talks to', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const settings = [...readme.matchAll(/^\| (`[A-Z][^|]*) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name = '']) => name),
  )
  // Where Beck is found, and by whom, is not where it goes.
  const outward = settings.filter(
    (name) => /_URL$|_ISSUER$|_ENDPOINT$|_RATES$/.test(name) && !/PUBLIC|DASHBOARD/.test(name),
  )
  assert.ok(outward.length >= 10, outward.join())
  const [, list = ''] = /^### Whom Beck talks to\n([\s\S]*?)^## /m.exec(guide) ?? []
  const named = [...list.matchAll(/`([A-Z0-9_]+)`/g)].map(([, name = '']) => name)
  assert.deepEqual(named.sort(), outward.sort())
})
