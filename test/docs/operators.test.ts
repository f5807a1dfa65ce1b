/** What docs/operators.md says about the nodes' configuration, held against the code. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
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
