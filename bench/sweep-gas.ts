/**
 * Gas per swept deposit, through the whole flow on a real Anvil: payments are paid and confirmed, the worker plans, the
 * signer signs, blocks are mined until every sweep is done, and the gas of all transactions that it took is read from
 * their receipts. Everything has to have arrived to the atom before a figure is printed.
 *
 *   node bench/sweep-gas.ts [deposits]
 *
 * Each alone is a chain before Prague; together, one with EIP-7702. The contract of the test token does what USDC's does:
 * two looks into a blocklist. USDC's own proxy costs about 7,000 gas more for each transfer, either way.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type EthereumPayouts, ethereumPayouts } from '../test/e2e/ethereum-payouts.ts'
import { globalSetup, globalTeardown } from '../test/global-setup.ts'

const DEPOSITS = Number(process.argv[2] ?? 30)
/** Dollars of each payment. */
const PRICE = 100n

await globalSetup()
after(globalTeardown)

test('gas per swept deposit', async () => {
  const older = await ethereumPayouts({ confirmations: 2, hardfork: 'cancun' })
  const ether = await measure(older, 'ETH', DEPOSITS)
  const alone = await measure(older, 'USDC', DEPOSITS)
  const newer = await ethereumPayouts({ confirmations: 2 })
  const deployment = await deploy(newer)
  print('ether, each alone', ether, ether)
  print('token, each alone after its gas', alone, alone)
  for (const count of [1, 5, DEPOSITS])
    print(`token, ${count} together`, await measure(newer, 'USDC', count), alone)
  process.stdout.write(`the contract, once: ${deployment} gas\n`)
})

interface Cost {
  /** For each deposit, of everything that was signed to bring it to the hot wallet. */
  readonly gas: bigint
  /** Ether that was given to the address for its gas and stays there, as gas at the price that was paid. */
  readonly leftBehind: bigint
}

async function measure(payouts: EthereumPayouts, asset: 'ETH' | 'USDC', count: number): Promise<Cost> {
  const { gateway, port, hotWallet } = payouts
  const held = async () => (await port.holdings({ outpoints: [], addresses: [hotWallet] }))[asset] ?? 0n
  const [before, leftBefore, signed] = [await held(), await leftBehind(payouts), await signedSoFar(payouts)]
  let paid = 0n
  for (let deposit = 0; deposit < count; deposit++) paid += await payouts.earn(asset, PRICE)
  await payouts.finish()
  const { gas, feeWei } = await gasBeside(payouts, signed)
  assert.equal((await held()) - before, asset === 'ETH' ? paid - feeWei : paid)
  const { rowCount } = await gateway.db.query("select from sweeps where status <> 'done'")
  assert.equal(rowCount, 0)
  const left = (((await leftBehind(payouts)) - leftBefore) * gas) / feeWei
  return { gas: gas / BigInt(count), leftBehind: left / BigInt(count) }
}

async function leftBehind({ gateway, port }: EthereumPayouts): Promise<bigint> {
  const { rows } = await gateway.db.query<{ address: string }>('select distinct address from deposits')
  return (await port.holdings({ outpoints: [], addresses: rows.map((row) => row.address) })).ETH ?? 0n
}

/** Two tokens at once make the worker ask for it; what it costs beyond their own sweeps, which go alone. */
async function deploy(payouts: EthereumPayouts): Promise<bigint> {
  const signed = await signedSoFar(payouts)
  for (let deposit = 0; deposit < 2; deposit++) await payouts.earn('USDC', PRICE)
  await payouts.finish()
  return (await gasBeside(payouts, signed, 'deploy')).gas
}

async function signedSoFar({ gateway }: EthereumPayouts): Promise<string[]> {
  const { rows } = await gateway.db.query<{ txid: string }>('select txid from signed_transactions')
  return rows.map((row) => row.txid)
}

async function gasBeside(
  { anvil, gateway }: EthereumPayouts,
  before: readonly string[],
  kind: string | null = null,
) {
  const { rows } = await gateway.db.query<{ txid: string }>(
    `select txid from signed_transactions where txid <> all($1) and status = 'confirmed' and ($2::text is null or kind = $2)`,
    [before, kind],
  )
  let [gas, feeWei] = [0n, 0n]
  for (const { txid } of rows) {
    const receipt = await anvil.rpc<{ gasUsed: string; effectiveGasPrice: string }>(
      'eth_getTransactionReceipt',
      [txid],
    )
    gas += BigInt(receipt.gasUsed)
    feeWei += BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice)
  }
  return { gas, feeWei }
}

function print(what: string, cost: Cost, alone: Cost): void {
  const ratio = (Number(cost.gas + cost.leftBehind) / Number(alone.gas + alone.leftBehind)).toFixed(2)
  process.stdout.write(
    `${what.padEnd(32)} ${String(cost.gas).padStart(6)} gas, left behind ${String(cost.leftBehind).padStart(6)}: ${ratio} of alone\n`,
  )
}
