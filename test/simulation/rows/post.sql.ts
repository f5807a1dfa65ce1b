import { invariant } from '../../../src/core/errors.ts'
import { GATEWAY } from '../../../src/core/gateway-account.ts'
import { type LedgerAccount, MERCHANT_ACCOUNTS, showCause } from '../../../src/ledger/chart-of-accounts.ts'
import type * as real from '../../../src/ledger/post.sql.ts'
import { run, Violation } from './tables.ts'

const isMerchant = (account: LedgerAccount): boolean =>
  (MERCHANT_ACCOUNTS as readonly string[]).includes(account)

export const post: typeof real.post = (tx, { accountId, chain, cause, transfers: given }) =>
  run(tx, (tables) => {
    const transfers = given.filter((transfer) => transfer.atoms !== 0n)
    for (const { atoms, debit, credit } of transfers) {
      invariant(atoms > 0n, `a transfer of ${showCause(cause)} is negative: ${atoms}`)
      invariant(
        accountId !== GATEWAY || !(isMerchant(debit) || isMerchant(credit)),
        `${showCause(cause)} has no merchant`,
      )
    }
    const key = `${accountId} ${showCause(cause)}`
    const isKnown = tables.entries.has(key)
    if (isKnown && tables.mutation !== 'cause-not-unique') return false
    tables.entries.set(isKnown ? `${key} ${tables.entries.size}` : key, {
      accountId,
      chain,
      at: tables.now(),
      cause,
      transfers,
    })
    if (tables.mutation === 'hold-forgotten' && cause.kind === 'hold') return true
    // One net change a balance, as the rows are changed.
    const changes = new Map<string, bigint>()
    for (const { asset, debit, credit, atoms } of transfers) {
      if (isMerchant(debit))
        changes.set(`${asset} ${debit}`, (changes.get(`${asset} ${debit}`) ?? 0n) - atoms)
      if (isMerchant(credit))
        changes.set(`${asset} ${credit}`, (changes.get(`${asset} ${credit}`) ?? 0n) + atoms)
    }
    for (const [balance, atoms] of changes) {
      const after = (tables.balances.get(`${accountId} ${balance}`) ?? 0n) + atoms
      if (after < 0n) throw new Violation('23514', `${showCause(cause)} leaves ${after} of ${balance}`)
      tables.balances.set(`${accountId} ${balance}`, after)
    }
    return true
  })

export const listTransfers: typeof real.listTransfers = (db, accountId, cause) =>
  run(db, (tables) => [...(tables.entries.get(`${accountId} ${showCause(cause)}`)?.transfers ?? [])])

export const lockBalance: typeof real.lockBalance = (tx, { accountId, asset, kind }) =>
  run(tx, (tables) => tables.balances.get(`${accountId} ${asset} ${kind}`) ?? 0n)

export const sumLoss: typeof real.sumLoss = (db, accountId, asset, kinds, subjectIds) =>
  run(db, (tables) =>
    [...tables.entries.values()]
      .filter(
        ({ accountId: of, cause }) =>
          of === accountId && kinds.includes(cause.kind) && subjectIds.includes(cause.subjectId),
      )
      .flatMap(({ transfers }) => transfers)
      .filter((transfer) => transfer.asset === asset)
      .reduce(
        (sum, { debit, credit, atoms }) =>
          sum + (debit === 'loss' ? atoms : 0n) - (credit === 'loss' ? atoms : 0n),
        0n,
      ),
  )
