/** What a request asks people to sign, made from the rows as they are now; the signer makes it again from its own. */
import type { ApprovalRequest } from '../../approvals/approval-request.ts'
import { networkName } from '../../approvals/network-name.ts'
import type { PayoutTerms, Statement } from '../../approvals/statement.ts'
import { findChainProgress } from '../../chains/chain-progress.sql.ts'
import type { ChainName } from '../../core/assets.ts'
import { InvariantBroken, invariant, Refusal } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import type { Secrets } from '../../core/secrets.ts'
import type { Queryable } from '../../db/database.ts'
import { currentWallets } from '../../wallets/wallets.sql.ts'
import { listBatch } from '../../withdrawals/payout-batches.sql.ts'
import { isOwnKind, type Withdrawal } from '../../withdrawals/withdrawal.ts'
import { findWithdrawal } from '../../withdrawals/withdrawals.sql.ts'

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
    invariant(withdrawal, `${common.request} asks for a withdrawal that is not there`)
    const network = await chainNamed(db, secrets, withdrawal.chain)
    return { ...common, act: 'withdrawal', network, terms: payoutTerms(withdrawal) }
  }
  if (asked.act !== 'batch') return { ...common, ...asked }
  const lines = await listBatch(db, accountId, asked.batchId)
  const [first] = lines
  invariant(first, `${common.request} asks for a batch that has no withdrawals`)
  const network = await chainNamed(db, secrets, first.chain)
  return {
    ...common,
    act: 'batch',
    network,
    batch: showId('bat', asked.batchId),
    lines: lines.map(payoutTerms),
  }
}

/** Null where it cannot be made now: what tells of many requests tells of the others. */
export async function statementIfAny(...given: Parameters<typeof statementOf>): Promise<Statement | null> {
  try {
    return await statementOf(...given)
  } catch (error) {
    if (error instanceof Refusal || error instanceof InvariantBroken) return null
    throw error
  }
}

function payoutTerms({ id, kind, asset, amountAtoms, netAtoms, destination }: Withdrawal): PayoutTerms {
  invariant(!isOwnKind(kind), `withdrawal ${id} is the gateway's own, which no merchant approves`)
  return { withdrawal: showId('wd', id), kind, asset, amountAtoms, netAtoms, destination }
}

/** @throws {Refusal} `unavailable`, `chain_unknown`. */
async function chainNamed(db: Queryable, secrets: Secrets, chain: ChainName): Promise<string> {
  const wallet = (await currentWallets(db, secrets)).find((each) => each.chain === chain)
  const identity = (await findChainProgress(db, chain))?.identity ?? ''
  const chainId = /^(\d+):/.exec(identity)?.[1]
  const name = wallet && networkName(chain, wallet.mode, chainId ? Number(chainId) : null)
  if (name) return name
  throw new Refusal(
    'unavailable',
    'chain_unknown',
    `which chain ${chain} is, is not known yet: no watcher has reached its node; try again later`,
  )
}
