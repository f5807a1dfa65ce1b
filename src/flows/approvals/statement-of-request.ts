/** What a request asks people to sign, made from the rows as they are now; the signer makes it again from its own. */
import type { ApprovalRequest } from '../../approvals/approval-request.ts'
import { networkName } from '../../approvals/network-name.ts'
import type { PayoutTerms, Statement } from '../../approvals/statement.ts'
import { findChainProgress } from '../../chains/chain-progress.sql.ts'
import type { ChainName } from '../../core/assets.ts'
import { conflict, Refusal, unavailable } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import type { Secrets } from '../../core/secrets.ts'
import type { Queryable } from '../../db/database.ts'
import { findCurrentWallet } from '../../wallets/wallets.sql.ts'
import { listBatch } from '../../withdrawals/payout-batches.sql.ts'
import { isOwnKind, type Withdrawal } from '../../withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../withdrawals/withdrawals.sql.ts'

/** @throws {Refusal} `conflict`, `request_unreadable`, for what nobody can be asked about; `unavailable`, `chain_unknown`. */
export async function statementOf(
  db: Queryable,
  secrets: Secrets,
  request: ApprovalRequest,
): Promise<Statement> {
  const { accountId, id, asked, askedBy, validUntil } = request
  const common = { account: showId('acct', accountId), request: showId('apr', id), askedBy, validUntil }
  if (asked.act === 'policy') return { ...common, ...asked }
  if (asked.act === 'withdrawal') {
    const withdrawal = await findWithdrawal(db, accountId, asked.withdrawalId)
    if (!withdrawal) throw unreadable('its withdrawal is missing in the database')
    const network = await chainNamed(db, secrets, withdrawal.chain)
    return { ...common, act: 'withdrawal', network, terms: payoutTerms(withdrawal) }
  }
  if (asked.act !== 'batch') return { ...common, ...asked }
  const lines = await listBatch(db, accountId, asked.batchId)
  const [first] = lines
  if (!first) throw unreadable('the payouts of its batch are missing in the database')
  const network = await chainNamed(db, secrets, first.chain)
  return {
    ...common,
    act: 'batch',
    network,
    batch: showId('bat', asked.batchId),
    lines: lines.map(payoutTerms),
  }
}

/** The same, or why it cannot be made now: what shows many requests shows the others. */
export async function tryStatementOf(
  ...given: Parameters<typeof statementOf>
): Promise<{ readonly statement: Statement } | { readonly statement: null; readonly problem: string }> {
  try {
    return { statement: await statementOf(...given) }
  } catch (error) {
    if (error instanceof Refusal) return { statement: null, problem: error.message }
    throw error
  }
}

/** Such rows nobody of ours wrote: they came by a restore of parts, or by another's hand. */
const unreadable = (what: string) =>
  conflict(
    'request_unreadable',
    `this request cannot be read: ${what}. Nobody can approve it, and nothing leaves by it. Decline it, and tell the operator`,
  )

function payoutTerms({ id, kind, ...terms }: Withdrawal): PayoutTerms {
  if (isOwnKind(kind)) throw unreadable('its withdrawal is the gateway’s own')
  const { asset, amountAtoms, netAtoms, destination } = terms
  return { withdrawal: showId('wd', id), kind, asset, amountAtoms, netAtoms, destination }
}

/** @throws {Refusal} `unavailable`, `chain_unknown`. */
async function chainNamed(db: Queryable, secrets: Secrets, chain: ChainName): Promise<string> {
  const wallet = await findCurrentWallet(db, secrets, chain)
  const identity = (await findChainProgress(db, chain))?.identity ?? ''
  const chainId = /^(\d+):/.exec(identity)?.[1]
  const name = wallet && networkName(chain, wallet.mode, chainId ? Number(chainId) : null)
  if (name) return name
  throw unavailable(
    'chain_unknown',
    `which chain ${chain} is, is not known yet: no watcher has reached its node; try again later`,
  )
}
