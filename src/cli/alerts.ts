/** `beck alerts`: what Beck wants the operator to look at, and who has. */
import { acknowledgeAlerts, listAlerts, type RaisedAlert } from '../alerts/alerts.sql.ts'
import { invalid } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import { isoOrNull } from '../core/time.ts'
import { recordCommand } from './record-command.ts'
import { type Terminal, table } from './terminal.ts'
import { inTransaction, withStore } from './tool.ts'

/** Beyond it the oldest are not listed; acknowledge what was dealt with. */
const LISTED_MAX = 200
const ALERT_ID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

export async function showAlerts(terminal: Terminal, options: { readonly all?: true }): Promise<void> {
  const alerts = await withStore(({ db }) => listAlerts(db, { all: options.all === true, limit: LISTED_MAX }))
  terminal.answer(
    { alerts: alerts.map(shown) },
    alerts.length === 0
      ? [options.all ? 'No alert was ever raised.' : 'No alert is open.']
      : [
          ...table(alerts.map(lineOf)),
          ...(alerts.some(({ acknowledged }) => !acknowledged)
            ? ['', 'Dealt with one? npx beck alerts ack ID; with all: npx beck alerts ack --all']
            : []),
        ],
  )
}

export async function acknowledge(
  terminal: Terminal,
  ids: readonly string[],
  options: { readonly all?: true },
): Promise<void> {
  if ((ids.length === 0) === (options.all !== true))
    throw invalid('usage', 'name the alerts to acknowledge, or give --all; npx beck alerts list shows them')
  const strange = ids.find((id) => !ALERT_ID.test(id))
  if (strange !== undefined)
    throw invalid('invalid_alert', `"${strange}" is no alert; npx beck alerts list names them`)
  const alerts = await inTransaction(async (tx) => {
    const acknowledged = await acknowledgeAlerts(tx, options.all ? null : ids, 'command line')
    for (const { id, accountId, kind, subject } of acknowledged)
      await recordCommand(tx, {
        accountId,
        action: 'alert.acknowledge',
        subject: id,
        after: { kind, subject },
      })
    return acknowledged
  })
  terminal.answer({ acknowledged: alerts.map(shown) }, [
    `${alerts.length === 1 ? 'One alert is' : `${alerts.length} alerts are`} acknowledged.`,
  ])
}

const lineOf = (alert: RaisedAlert): string[] => [
  alert.id,
  alert.createdAt.toISOString().slice(0, 16).replace('T', ' '),
  alert.acknowledged ? 'seen' : 'OPEN',
  alert.kind,
  alert.message,
]

const shown = (alert: RaisedAlert) => ({
  id: alert.id,
  kind: alert.kind,
  subject: alert.subject,
  account_id: alert.accountId && showId('acct', alert.accountId),
  message: alert.message,
  created_at: alert.createdAt.toISOString(),
  acknowledged_at: isoOrNull(alert.acknowledged?.at ?? null),
  acknowledged_by: alert.acknowledged?.by ?? null,
})
