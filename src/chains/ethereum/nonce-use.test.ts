import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAnvil } from '../../../test/anvil.ts'
import { SILENT } from '../../core/log.ts'
import { createEthereumChain } from './ethereum-chain.ts'

const anvil = await startAnvil()
const [, from = '', to = ''] = anvil.accounts
const contract = `0x${'11'.repeat(20)}`
const chain = createEthereumChain({
  rpcUrl: anvil.url,
  network: 'dev',
  usdcContract: contract,
  usdtContract: contract,
  log: SILENT,
})

test('who used a nonce is found among the blocks below a height, and only there', async () => {
  const sent: string[] = []
  for (let nonce = 0; nonce < 3; nonce++) {
    sent.push(await anvil.send({ from, to, value: 1n }))
    await anvil.mine(7)
  }
  const use = (nonce: bigint, upTo: number) => chain.findNonceUse?.(from, nonce, upTo)
  const tip = await anvil.height()
  for (const [nonce, hash] of sent.entries()) {
    const found = await use(BigInt(nonce), tip)
    assert.ok(found?.kind === 'used')
    assert.equal(found.txid, hash)
    assert.equal(found.block.height, tip - 20 + 7 * nonce)
    assert.deepEqual(await use(BigInt(nonce), found.block.height - 1), { kind: 'unused' })
    assert.deepEqual(await use(BigInt(nonce), found.block.height), found)
  }
  assert.deepEqual(await use(3n, tip), { kind: 'unused' })
  assert.deepEqual(await use(0n, -5), { kind: 'unused' })
  await anvil.mine(100)
  assert.deepEqual(await use(1n, tip + 100), { kind: 'unclear' }, 'too long ago')
  await chain.close()
})
