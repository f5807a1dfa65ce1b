/** What leaves the gateway by everything that its signer ever signed, sent or not: whoever has the bytes may send them. */
import assert from 'node:assert/strict'
import { decodeFunctionData, erc20Abi, parseTransaction } from 'viem'
import { outputsOfRaw } from '../../src/chains/bitcoin/sign.ts'
import { COIN, type Scene, TOKENS } from '../live-scene.ts'

/** What leaves the gateway by signed bitcoin bytes: of transactions that exclude each other the dearest. */
export async function bitcoinGone(scene: Scene): Promise<bigint> {
  const own = new Set<string>()
  const keys = scene.signer.vault.get('bitcoin')
  for (let position = 0n; position < 300n; position++)
    own.add(Buffer.from(keys?.address(1, position).lookup ?? []).toString('hex'))
  const bySet = new Map<string, bigint>()
  for (const entry of (await scene.signed()).filter(({ chain }) => chain === 'bitcoin')) {
    const kept = outputsOfRaw(entry.raw)
      .filter(({ script }) => own.has(Buffer.from(script).toString('hex')))
      .reduce((sum, { atoms }) => sum + atoms, 0n)
    assert.ok(entry.purpose === 'outputs')
    const gone = BigInt(entry.spends.length) * COIN - kept
    const before = bySet.get(entry.replacementSet) ?? 0n
    bySet.set(entry.replacementSet, gone > before ? gone : before)
  }
  return [...bySet.values()].reduce((sum, atoms) => sum + atoms, 0n)
}

/** What leaves by signed ethereum bytes, fees at their highest; of transactions with one nonce the dearest. */
export async function ethereumGone(scene: Scene): Promise<{ ETH: bigint; USDC: bigint }> {
  const keys = scene.signer.vault.get('ethereum')
  const own = new Set([keys?.hotWallet.address.toLowerCase()])
  for (let position = 0n; position < 20n; position++)
    own.add(keys?.address(0, position).address.toLowerCase())
  const byNonce = new Map<string, { ETH: bigint; USDC: bigint }>()
  for (const entry of (await scene.signed()).filter(({ chain }) => chain === 'ethereum')) {
    assert.ok(entry.purpose !== 'outputs')
    const transaction = parseTransaction(entry.raw as `0x02${string}`)
    assert.equal(transaction.type, 'eip1559')
    const { to, value = 0n, gas = 0n, maxFeePerGas = 0n, data } = transaction
    const isToken = to?.toLowerCase() === TOKENS.USDC.toLowerCase()
    const [receiver, atoms] = isToken && data ? transferOf(data) : [to, 0n]
    const leaves = !own.has(String(receiver).toLowerCase())
    const gone = { ETH: gas * maxFeePerGas + (leaves ? value : 0n), USDC: leaves && isToken ? atoms : 0n }
    const key = `${entry.sender}:${entry.nonce}`
    const before = byNonce.get(key) ?? { ETH: 0n, USDC: 0n }
    byNonce.set(key, {
      ETH: gone.ETH > before.ETH ? gone.ETH : before.ETH,
      USDC: gone.USDC > before.USDC ? gone.USDC : before.USDC,
    })
  }
  const all = [...byNonce.values()]
  return {
    ETH: all.reduce((sum, { ETH }) => sum + ETH, 0n),
    USDC: all.reduce((sum, { USDC }) => sum + USDC, 0n),
  }
}

function transferOf(data: `0x${string}`): [string, bigint] {
  const { functionName, args } = decodeFunctionData({ abi: erc20Abi, data })
  assert.equal(functionName, 'transfer')
  return [String(args?.[0]), BigInt(String(args?.[1]))]
}
