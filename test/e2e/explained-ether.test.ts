/**
 * Random histories of deposits, ether of contracts, sweeps, gas that we give deposit addresses, and payouts, some of them reverted, with
 * reorganisations up to the deepest that is followed: what is derived from balances is never more than what contracts sent
 * in the branch that the watcher stands on, and in the end it is just that.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { test } from 'node:test'
import { findChainProgress } from '../../src/chains/chain-progress.sql.ts'
import { broadcastSigned } from '../../src/flows/withdrawals/broadcast-withdrawal.ts'
import { confirmSigned } from '../../src/flows/withdrawals/confirm-withdrawal.ts'
import type { Payment } from '../../src/payments/payment.ts'
import { insertSigned, markReady } from '../../src/treasury/place-signed.sql.ts'
import type { AccountEntry } from '../../src/treasury/signed-entry.ts'
import { MODEL_FEE, type ModelTransaction, modelEthereum } from '../model-ethereum.ts'
import { type Random, seeded } from '../simulation/random.ts'
import { openRoad } from './road.ts'

const HISTORIES = 4
const STEPS = 60
const ETHER = 10n ** 18n
const HOT = `0x${'77'.repeat(20)}`
const STRANGER = `0x${'88'.repeat(20)}`

for (let history = 0; history < HISTORIES; history++) {
  const seed = randomInt(2 ** 32)
  test(`history ${history} of seed ${seed}: no ether is derived that the branch does not explain`, () =>
    tell(seed))
}

async function tell(seed: number): Promise<void> {
  const random = seeded(seed, 1)
  const model = modelEthereum()
  const road = await openRoad(model.port, { confirmations: { ETH: 2 } })
  const { gateway, port } = road
  const payments: Payment[] = []
  for (let count = 0; count < 4; count++) payments.push(await road.create('ETH', 100n))
  model.mine({ unannounced: [{ to: HOT, wei: 1_000n * ETHER }] })
  const said: string[] = []

  async function pay(): Promise<void> {
    await gateway.db.query("update signed_transactions set send_at = now() - interval '1 minute'")
    await broadcastSigned(gateway, port)
    await confirmSigned(gateway, port)
  }

  /** What the signer does, less the signature: one at a time from each sender. */
  async function sign(
    from: string,
    to: string,
    wei: bigint,
    kind: 'sweep' | 'gas' | 'payout',
  ): Promise<void> {
    const { rowCount } = await gateway.db.query(
      `select from signed_transactions where sender = $1 and status not in ('confirmed', 'reverted', 'displaced', 'impossible')`,
      [from],
    )
    const { rows } = await gateway.db.query<{ next: bigint }>(
      'select coalesce(max(nonce) + 1, 0) as next from signed_transactions where sender = $1',
      [from],
    )
    if (rowCount > 0 || wei <= 0n) return
    const nonce = Number(rows[0]?.next ?? 0n)
    const txid = `0x${randomBytes(32).toString('hex')}`
    const reverts = random.below(8) === 0
    const bytes: ModelTransaction = {
      txid,
      from: from.toLowerCase(),
      to: to.toLowerCase(),
      nonce,
      wei: String(wei),
      reverts,
    }
    const of =
      kind === 'payout'
        ? ({ purpose: 'transfer', withdrawals: [] } as const)
        : ({ purpose: kind, sweep: '00000000-0000-0000-0000-000000000000' } as const)
    const entry: AccountEntry = {
      ...{
        chain: 'ethereum',
        txid,
        replacementSet: txid,
        kind,
        ...of,
        asset: 'ETH',
        raw: JSON.stringify(bytes),
      },
      ...{ valueAtoms: String(wei), feeAtoms: String(MODEL_FEE), feeRate: '1', leaves: [], sender: from },
      nonce: String(nonce),
      transfer: { to, atoms: String(wei), gasLimit: '21000', priorityFeeWei: '0', branch: 0, position: '0' },
    }
    await gateway.db.transaction((tx) => insertSigned(tx, entry, 'placed'))
    await markReady(gateway.db, entry)
  }

  const isCertain = async (address: string): Promise<boolean> => {
    const { rows } = await gateway.db.query<{ is_certain: boolean }>(
      'select is_certain from ether_of($1, $2)',
      ['ethereum', address],
    )
    return rows[0]?.is_certain ?? false
  }

  async function requireExplained(exactly: boolean): Promise<void> {
    const progress = await findChainProgress(gateway.db, 'ethereum')
    assert.ok(progress)
    for (const { address } of payments) {
      const { rows } = await gateway.db.query<{ derived: bigint }>(
        `select coalesce(sum(amount_atoms), 0) as derived from deposits
         where address = $1 and output_index = -2 and block_height is not null`,
        [address],
      )
      const derived = rows[0]?.derived ?? 0n
      const came = model.unannouncedUpTo(progress.tipHash, address)
      const story = `seed ${seed}, after: ${said.join(', ')}`
      // A sweep of what a reorganisation took for good waits for ever, and its address with it.
      if (exactly && (await isCertain(address))) assert.equal(derived, came, story)
      else assert.ok(derived <= came, `${derived} wei were derived at ${address} and ${came} came; ${story}`)
    }
  }

  for (let step = 0; step < STEPS; step++) {
    said.push(await takeStep(random))
    await requireExplained(false)
  }
  // Until nothing is under way any more.
  for (let round = 0; round < 8; round++) {
    await pay()
    model.mine()
    await road.follow()
  }
  await gateway.db.query('update chains set ether_asked_at = clock_timestamp()')
  await road.follow()
  await requireExplained(true)
  for (const payment of payments) {
    if (!(await isCertain(payment.address))) continue
    const held = await port.holdings({ outpoints: [], addresses: [payment.address] })
    const { rows } = await gateway.db.query<{ atoms: bigint }>(
      'select observed_atoms + given_atoms - sent_atoms as atoms from ether_of($1, $2)',
      ['ethereum', payment.address],
    )
    assert.equal(rows[0]?.atoms, held.ETH, `seed ${seed}: what is recorded is what is held`)
  }

  async function turn(): Promise<void> {
    model.mine()
    await road.follow()
    await pay()
  }

  async function takeStep(by: Random): Promise<string> {
    const { address } = by.pick(payments)
    const wei = BigInt(1 + by.below(5)) * (ETHER / 10n)
    const depth = by.below(5) === 0 ? 1 + by.below(100) : 1 + by.below(4)
    const steps: readonly (readonly [weight: number, name: string, take: () => void | Promise<void>])[] = [
      [12, 'deposit', () => model.mine({ deposits: [{ to: address, wei }] })],
      [8, 'contract', () => model.mine({ unannounced: [{ to: address, wei }] })],
      [18, 'sweep', () => sign(address, HOT, model.balance(address) - MODEL_FEE, 'sweep')],
      [5, 'gas', () => sign(HOT, address, ETHER / 1_000n, 'gas')],
      [4, 'payout', () => sign(HOT, STRANGER, ETHER / 100n, 'payout')],
      [31, 'turn', turn],
      [4, 'pay', pay],
      [6, 'follow', road.follow],
      [12, `reorganise ${depth}`, () => model.reorganise(depth, by.below(2) === 0)],
    ]
    let chance = by.below(100)
    for (const [weight, name, take] of steps) {
      chance -= weight
      if (chance >= 0) continue
      await take()
      if (name.startsWith('reorganise') && by.below(3) > 0) await road.follow()
      return name
    }
    throw new Error('the weights are a hundred')
  }
}
