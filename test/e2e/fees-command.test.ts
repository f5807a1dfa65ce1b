/** `beck fees` beside a running Beck: what was earned is listed, taken out to the atom, and called back until it is signed. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { lookupOf } from '../../src/chains/simulated/network.ts'
import { createSimulatedChain } from '../../src/chains/simulated/simulated-chain.ts'
import { formatDecimal } from '../../src/core/money.ts'
import { partOf } from '../beck-process.ts'
import { type Answer, testInstallation } from '../installation.ts'
import { DESTINATIONS } from '../payout-story.ts'
import { standsStill } from '../suspend.ts'
import { until, waitFor } from '../wait-for.ts'

const CHAIN = 'sim-litecoin'
const DESTINATION = DESTINATIONS[CHAIN]
const { db, start, command, call } = await testInstallation()

const payOut = (amount: string, ...more: readonly string[]): Promise<Answer> =>
  command(
    'fees',
    'pay-out',
    '--test',
    '--asset',
    'LTC',
    '--amount',
    amount,
    '--destination',
    DESTINATION,
    ...more,
  )
const balance = async (): Promise<Answer> =>
  (await command('fees')).balances.find(({ chain }: Answer) => chain === CHAIN)
const becomes = (id: string, status: string): Promise<Answer> =>
  waitFor(`${id} is ${status}`, async () => {
    const found = (await command('fees')).pay_outs.find((each: Answer) => each.id === id)
    return found.status === status ? found : null
  })
const ltc = (atoms: bigint): string => formatDecimal(atoms, 8)

test('fees of payments are listed, paid out, called back, and never more than there are', async () => {
  const beck = await start()
  assert.equal(await balance(), undefined)
  const made = await call(beck, 'POST', '/payments', { asset: 'LTC', fiat_amount: 5_000 })
  const { id } = made.data
  await call(beck, 'POST', `/sandbox/payments/${id}/pay`, { confirmations: 6 })
  await until(
    'it is completed',
    async () => (await call(beck, 'GET', `/payments/${id}`)).data.status === 'completed',
  )
  const earned = await balance()
  const fees = BigInt(earned.fees_atoms)
  // One percent, unless the operator says otherwise.
  assert.equal(fees, BigInt(earned.wallet_atoms) / 100n)
  assert.deepEqual(
    [earned.mode, earned.fees_payable_atoms, earned.capital_payable_atoms],
    ['test', String(fees), '0'],
  )

  const [part, rest] = [fees / 3n, fees - fees / 3n]
  const asked = await payOut(ltc(part))
  assert.deepEqual(
    [asked.kind, asked.amount_atoms, asked.destination_address],
    ['fees', String(part), DESTINATION],
  )
  const done = await becomes(asked.id, 'completed')
  assert.deepEqual(await paidTo(done.tx_hash), [BigInt(asked.net_atoms)])
  const after = await balance()
  assert.deepEqual([after.fees_atoms, after.on_its_way_atoms], [String(rest), '0'])
  assert.equal(after.owed_to_merchants_atoms, earned.owed_to_merchants_atoms)
  assert.equal((await command('fees', 'cancel', asked.id)).error.reason, 'withdrawal_finished')
  assert.equal((await payOut(ltc(rest + 1n))).error.reason, 'insufficient_balance')
  assert.equal((await payOut('0.01', '--capital')).error.reason, 'insufficient_balance')
  assert.equal((await command('fees', 'cancel', id)).error.reason, 'withdrawal_not_found')

  // The signer rests, so that nothing is signed before it is called back.
  const signer = await partOf(beck.process.child, 'signer/main.ts')
  process.kill(signer, 'SIGSTOP')
  await until('it rests', () => standsStill(signer))
  const waiting = await payOut(ltc(rest))
  assert.deepEqual([(await balance()).fees_atoms, (await balance()).on_its_way_atoms], ['0', String(rest)])
  assert.equal((await command('fees', 'cancel', waiting.id)).waiting_for, 'cancellation')
  process.kill(signer, 'SIGCONT')
  const failed = await becomes(waiting.id, 'failed')
  assert.deepEqual([failed.failure_reason, failed.tx_hash], ['cancelled', null])
  assert.equal((await balance()).fees_atoms, String(rest))

  const { differences } = await command('reconcile')
  assert.deepEqual(differences, [])
  const { rows: acts } = await db.query<{ action: string }>(
    "select action from audit_log where action like 'fees.%' order by at, id",
  )
  assert.deepEqual(
    acts.map(({ action }) => action),
    ['fees.pay_out', 'fees.pay_out', 'fees.cancel'],
  )
  await beck.process.stop()
})

/** What a transaction in a block pays the operator's wallet. */
async function paidTo(txid: string): Promise<bigint[]> {
  const port = createSimulatedChain({ db, chain: CHAIN })
  const found = await port.findTransaction(txid)
  assert.ok(found?.block)
  const { transactions } = await port.readBlock(found.block.hash)
  const lookup = Buffer.from(lookupOf(CHAIN, DESTINATION) ?? assert.fail()).toString('hex')
  return (transactions.find(({ key }) => key === txid)?.outputs ?? [])
    .filter((output) => Buffer.from(output.lookup).toString('hex') === lookup)
    .map(({ atoms }) => atoms)
}
