import type * as real from '../../../src/alerts/alerts.sql.ts'
import { run } from './tables.ts'

export const raiseAlert: typeof real.raiseAlert = (db, { kind, subject, message }) =>
  run(db, (tables) => {
    if (!tables.alerts.has(`${kind} ${subject}`)) tables.alerts.set(`${kind} ${subject}`, message)
  })

export const raiseAlertOnce: typeof real.raiseAlertOnce = (tx, { kind, subject, message }) =>
  run(tx, (tables) => {
    const isFirst = !tables.alerts.has(`${kind} ${subject}`)
    if (isFirst) tables.alerts.set(`${kind} ${subject}`, message)
    return isFirst
  })
