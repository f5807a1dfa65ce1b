/** `beck audit`: who did what, and whether the record of it is whole. */

import type { RecordedAct } from '../audit/act.ts'
import { type AuditProof, chainActs, listActs, verifyAuditLog } from '../audit/audit-log.sql.ts'
import { invalid, notFound } from '../core/errors.ts'
import { readId, showId } from '../core/ids.ts'
import { type Terminal, table } from './terminal.ts'
import { withStore } from './tool.ts'

const LISTED_MAX = 10_000
const ACTS_PER_CHAINING = 1_000

export async function listAudit(
  terminal: Terminal,
  given: { account?: string; limit: string },
): Promise<void> {
  const accountId = given.account === undefined ? undefined : readId('acct', given.account)
  if (accountId === null)
    throw notFound(
      'account_not_found',
      `there is no account ${given.account}; \`npx beck accounts list\` names them`,
    )
  const limit = Number(given.limit)
  if (!Number.isInteger(limit) || limit < 1 || limit > LISTED_MAX)
    throw invalid('invalid_limit', `--limit is 1 to ${LISTED_MAX}, got "${given.limit}"`)
  const acts = await withStore(({ db }) => listActs(db, { limit, ...(accountId ? { accountId } : {}) }))
  terminal.answer({ acts: acts.map(shown) }, table(acts.map(lineOf), 'Nothing was done yet.'))
}

/**
 * Checks the chain from its beginning. Ends with 1 when it is broken, or when an end noted earlier is not in it.
 *
 * @param given.head - `PLACE:MAC` as an earlier run printed it: shows whether the end was cut off since.
 */
export async function verifyAudit(terminal: Terminal, given: { head?: string }): Promise<void> {
  const noted = given.head === undefined ? null : readHead(given.head)
  const proof = await withStore(async ({ db, secrets }) => {
    let added = ACTS_PER_CHAINING
    while (added === ACTS_PER_CHAINING) added = (await chainActs(db, secrets, ACTS_PER_CHAINING)).added
    return verifyAuditLog(db, secrets, noted)
  })
  const head = proof.head && `${proof.head.place}:${proof.head.mac.toString('hex')}`
  terminal.answer(
    { whole: proof.broken === null, entries: Number(proof.entries), head, broken: brokenText(proof) },
    proof.broken
      ? [`The audit log is NOT whole: ${brokenText(proof)}.`]
      : [
          `${proof.entries} acts, each as it was recorded.`,
          ...(head
            ? [`It ends at ${head}; note it elsewhere, and next time: npx beck audit verify --head ${head}`]
            : []),
        ],
  )
  if (proof.broken) process.exitCode = 1
}

function readHead(text: string): { place: bigint; mac: Buffer } {
  const [, place, mac] = /^(\d{1,18}):([0-9a-f]{64})$/.exec(text) ?? []
  if (place && mac) return { place: BigInt(place), mac: Buffer.from(mac, 'hex') }
  throw invalid('invalid_head', `--head is PLACE:MAC as npx beck audit verify prints it, got "${text}"`)
}

const brokenText = ({ broken }: AuditProof): string | null =>
  broken &&
  `${broken.problem === 'missing' ? 'there is no act' : 'an act was changed'} at place ${broken.place}`

const shown = (act: RecordedAct) => ({
  id: act.id,
  at: act.at.toISOString(),
  place: act.place === null ? null : Number(act.place),
  account_id: act.accountId && showId('acct', act.accountId),
  actor: act.actor,
  address: act.address,
  action: act.action,
  subject: act.subject,
  before: act.before,
  after: act.after,
})

const lineOf = ({ at, actor, address, action, subject, before, after }: RecordedAct): string[] => [
  at.toISOString(),
  action,
  subject ?? '',
  [actor.kind, actor.name ?? actor.id].filter(Boolean).join(' '),
  address ?? '',
  [before && `was ${JSON.stringify(before)}`, after && JSON.stringify(after)].filter(Boolean).join(' '),
]
