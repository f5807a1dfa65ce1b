import type { Asset } from '../../../src/core/assets.ts'
import { showCause } from '../../../src/ledger/chart-of-accounts.ts'
import type * as real from '../../../src/signer/requests.sql.ts'
import { isOpen } from '../../../src/treasury/signed-transaction.ts'
import { HELD_FROM, holdCause, releaseCause } from '../../../src/withdrawals/withdrawal.ts'
import { type DelegateRow, hasLostCoin, isWaiting, run, type SweepRow, type UtxoRow } from './tables.ts'

export const listChainsWithWork: typeof real.listChainsWithWork = (db) =>
  run(db, (tables) => {
    const chains = new Set<UtxoRow['chain']>()
    for (const row of tables.withdrawals.values()) if (isWaiting(tables, row.id)) chains.add(row.chain)
    for (const row of tables.signed.values()) if (isOpen(row.status) && row.bumpWanted) chains.add(row.chain)
    const isSwept =
      [...tables.sweeps.values()].some(isToSign) || [...tables.sweepDelegates.values()].some(isWanted)
    if (isSwept) chains.add('sim-ethereum')
    return chains
  })

export const listRequested: typeof real.listRequested = (db, _chain, after, limit) =>
  run(db, (tables) =>
    [...tables.withdrawals.values()]
      .slice(after === null ? 0 : [...tables.withdrawals.keys()].indexOf(after.id) + 1)
      .filter((row) => isWaiting(tables, row.id))
      .slice(0, limit)
      .map((row) => ({
        ...row,
        isFrozen: tables.freezes.has(row.asset),
        rehearsal: 'succeeds',
        rehearsedGas: 0n,
        approval: null,
        policiesShown: 0,
      })),
  )

/** No story cancels: of marks nothing is asked. */
export const listGatheredFor: typeof real.listGatheredFor = async () => []

export const listHeld: typeof real.listHeld = (db, requests) =>
  run(db, (tables) =>
    requests.map(({ accountId, id, asset, kind }) => {
      if (tables.entries.has(`${accountId} ${showCause(releaseCause(id))}`)) return 0n
      const from = HELD_FROM[kind]
      return (tables.entries.get(`${accountId} ${showCause(holdCause(id))}`)?.transfers ?? [])
        .filter((each) => each.asset === asset && each.debit === from && each.credit === 'held')
        .reduce((sum, { atoms }) => sum + atoms, 0n)
    }),
  )

export const isIdle: typeof real.isIdle = (db) =>
  run(
    db,
    (tables) =>
      tables.freezes.size === 0 &&
      ![...tables.withdrawals.values()].some(({ status }) => status === 'requested'),
  )

export const nextChangePosition: typeof real.nextChangePosition = (db, _chain, series) =>
  run(db, (tables) => tables.nextChange.get(series) ?? 1n)

export const sweptAtoms: typeof real.sweptAtoms = (db, _chain, id) =>
  run(db, (tables) => tables.sweeps.get(id)?.atoms ?? null)

export const listBumpsWanted: typeof real.listBumpsWanted = (db) =>
  run(db, (tables) => {
    const sets = new Map<
      string,
      { replacementSet: string; txid: string; feeAtoms: bigint; feeRate: bigint }
    >()
    for (const row of tables.signed.values()) {
      const members = [...tables.signed.values()].filter((each) => each.replacementSet === row.replacementSet)
      if (!members.some((each) => each.bumpWanted)) continue
      if (members.some((each) => !isOpen(each.status) || each.blockHeight !== null)) continue
      if (hasLostCoin(tables, row)) continue
      // Later rows come later: the newest of each set stays.
      sets.set(row.replacementSet, row)
    }
    return [...sets.values()].map(({ replacementSet, txid, feeAtoms, feeRate }) => ({
      replacementSet,
      txid,
      feeAtoms,
      feeRate,
    }))
  })

export const nextNonce: typeof real.nextNonce = (db, _chain, sender) =>
  run(db, (tables) => tables.nonces.get(sender) ?? null)

export const spendableBalances: typeof real.spendableBalances = (db, _chain, sender) =>
  run(db, (tables) => {
    const spendable = new Map<Asset, bigint>()
    for (const asset of ['ETH', 'USDC', 'USDT'] satisfies Asset[]) {
      const held = tables.accountBalances.get(`${sender} ${asset}`)
      if (!held) continue
      const { atoms, seenHeight } = held
      const taken = new Map<string, bigint>()
      const rows = [...tables.signed.values()].filter((row) => row.sender === sender)
      const settled = new Set(
        rows
          .filter((row) => row.blockHeight !== null && row.blockHeight <= seenHeight)
          .map((row) => row.replacementSet),
      )
      for (const row of rows) {
        const counts = row.blockHeight === null ? isOpen(row.status) : row.blockHeight > seenHeight
        if (!counts || settled.has(row.replacementSet)) continue
        const most = (row.asset === asset ? row.valueAtoms : 0n) + (asset === 'ETH' ? row.feeAtoms : 0n)
        if (most > (taken.get(row.replacementSet) ?? 0n)) taken.set(row.replacementSet, most)
      }
      spendable.set(
        asset,
        [...taken.values()].reduce((left, most) => left - most, atoms),
      )
    }
    return spendable
  })

export const listSweeps: typeof real.listSweeps = (db, { after, limit }) =>
  run(db, (tables) => {
    const all = [...tables.sweeps.values()]
    const planned = all.filter((sweep) => isToSign(sweep) && !tables.freezes.has(sweep.asset))
    const ids = [...tables.sweeps.keys()]
    const failuresOf = ({ address, asset }: SweepRow) =>
      all.filter((one) => one.address === address && one.asset === asset && one.status === 'failed').length
    return planned
      .filter(({ id }) => after === null || ids.indexOf(id) > ids.indexOf(after))
      .slice(0, limit)
      .map((sweep) => ({
        ...sweep,
        isFunded: sweep.status === 'funded',
        failures: BigInt(failuresOf(sweep)),
      }))
  })

const isToSign = ({ status }: SweepRow): boolean => status === 'planned' || status === 'funded'

const isWanted = ({ replacementSet, wantedSince }: DelegateRow): boolean =>
  replacementSet === null && wantedSince !== null

export const isDeploymentWanted: typeof real.isDeploymentWanted = (db, _chain, address) =>
  run(db, (tables) => {
    const row = tables.sweepDelegates.get(address)
    return row !== undefined && isWanted(row)
  })
