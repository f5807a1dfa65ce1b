import { invariant } from '../../../src/core/errors.ts'
import type * as real from '../../../src/payments/unresolved-funds.sql.ts'
import { run, Violation } from './tables.ts'

export const addUnresolved: typeof real.addUnresolved = (tx, { paymentId, asset }, atoms) =>
  run(tx, (tables) => {
    const key = `${paymentId} ${asset}`
    const before = tables.unresolved.get(key)?.atoms ?? 0n
    tables.unresolved.set(key, { paymentId, asset, atoms: before + atoms })
  })

export const takeUnresolved: typeof real.takeUnresolved = (tx, { paymentId, asset }, atoms) =>
  run(tx, (tables) => {
    if (atoms === 0n) return
    const key = `${paymentId} ${asset}`
    const row = tables.unresolved.get(key)
    invariant(row, `nothing of ${asset} is held for payment ${paymentId}`)
    if (row.atoms < atoms) throw new Violation('23514', `${key} holds ${row.atoms}, less than ${atoms}`)
    tables.unresolved.set(key, { ...row, atoms: row.atoms - atoms })
  })

export const lockUnresolved: typeof real.lockUnresolved = (db, _accountId, paymentId) =>
  run(db, (tables) =>
    [...tables.unresolved.values()]
      .filter((row) => row.paymentId === paymentId && row.atoms > 0n)
      .sort((a, b) => (a.asset < b.asset ? -1 : 1)),
  )
