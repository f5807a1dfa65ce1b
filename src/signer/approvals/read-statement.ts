/** The statement of a request, made anew from what the signer itself would do. */
import { readPolicy } from '../../approvals/approval-policy.ts'
import { readAsker } from '../../approvals/asker.ts'
import { networkName } from '../../approvals/network-name.ts'
import type { PayoutTerms, Statement } from '../../approvals/statement.ts'
import { isSimulated, NETWORKS, type Network } from '../../core/assets.ts'
import { Refusal } from '../../core/errors.ts'
import { showId } from '../../core/ids.ts'
import type { Secrets } from '../../core/secrets.ts'
import type { Queryable } from '../../db/database.ts'
import { SIMULATED_MODE } from '../../wallets/derivation.ts'
import { readDestination } from '../../withdrawals/destination.ts'
import { isOwnKind, requestMacParts } from '../../withdrawals/withdrawal.ts'
import type { SignerConfig } from '../config.ts'
import { pinnedChainId } from '../requests.sql.ts'
import type { Vault } from '../vault.ts'
import { type Approvals, keyOfTerms, termsOf } from './approvals.ts'
import { type LineRow, listLines, type RequestRow } from './seen-approvals.sql.ts'

export interface Reading {
  readonly db: Queryable
  readonly secrets: Secrets
  readonly vault: Vault
  readonly approvals: Approvals
  readonly config: Pick<SignerConfig, 'modes'>
}

export type ReadStatement =
  | {
      readonly kind: 'read'
      readonly statement: Statement
      /** The withdrawals it is for. */
      readonly lines: readonly LineRow[]
      /** Their terms, as approvals of them are kept. */
      readonly pays: readonly string[]
    }
  /** It says nothing that could be approved. */
  | { readonly kind: 'nothing'; readonly why: string }
  /** Its chain is not known yet, or no key of it is here. */
  | { readonly kind: 'later' }

const nothing = (why: string): ReadStatement => ({ kind: 'nothing', why })

export async function readStatement(reading: Reading, request: RequestRow): Promise<ReadStatement> {
  const { act, askedBy } = request
  if (!readAsker(askedBy)) return nothing('nobody_asked')
  // PostgreSQL knows times that no calendar has.
  if (!isTime(request.validUntil)) return nothing('valid_for_too_long')
  const common = {
    account: showId('acct', request.accountId),
    request: showId('apr', request.id),
    askedBy,
    validUntil: request.validUntil,
  }
  // Another signer's: what this one knows nothing of, it says nothing of.
  if (!reading.approvals.knows(common.account)) return { kind: 'later' }
  if (act === 'withdrawal' || act === 'batch') return readPayouts(reading, request, common)
  if (act === 'policy') {
    // How many came before, the log says, not the row.
    const { policy: terms } = (request.terms ?? {}) as Readonly<Record<string, unknown>>
    const policy = readPolicy(terms)
    const known = reading.approvals.log.policyOf(common.account)?.number ?? 0
    // Where the log was lost, a policy that its people approve anew follows those that the database remembers.
    const follows = Math.max(known, request.policiesShown)
    if (!policy) return nothing('no_such_terms')
    return { kind: 'read', statement: { ...common, act, follows, policy }, lines: [], pays: [] }
  }
  const address = readAddress(reading, request.terms)
  if (!address) return nothing('no_such_terms')
  return { kind: 'read', statement: { ...common, act, ...address }, lines: [], pays: [] }
}

const isTime = (time: unknown): boolean => time instanceof Date && !Number.isNaN(time.getTime())

async function readPayouts(
  reading: Reading,
  request: RequestRow,
  common: Pick<Statement, 'account' | 'request' | 'askedBy' | 'validUntil'>,
): Promise<ReadStatement> {
  const { db, secrets, vault, approvals } = reading
  const lines = await listLines(db, request)
  const [first] = lines
  if (!first) return nothing('no_such_withdrawal')
  const { chain } = first
  const isOurs = (line: LineRow) =>
    line.chain === chain &&
    line.askedBy === request.askedBy &&
    !isOwnKind(line.kind) &&
    !/\s/.test(line.destination) &&
    secrets.isMac(line.mac, 'withdrawal', requestMacParts(line))
  if (isSimulated(chain) !== (approvals.mode === 'test') || !lines.every(isOurs))
    return nothing('not_authentic')
  const keys = vault.get(chain)
  const network =
    keys && networkName(chain, keys.mode, chain === 'ethereum' ? await pinnedChainId(db, chain) : null)
  if (!network) return { kind: 'later' }
  const pays = lines.map(keyOfTerms)
  const terms: readonly PayoutTerms[] = lines.map(termsOf)
  if (request.act === 'withdrawal') {
    const [alone] = terms
    if (!alone || terms.length !== 1) return nothing('no_such_withdrawal')
    return { kind: 'read', statement: { ...common, act: 'withdrawal', network, terms: alone }, lines, pays }
  }
  if (request.batchId === null) return nothing('no_such_withdrawal')
  const batch = showId('bat', request.batchId)
  return { kind: 'read', statement: { ...common, act: 'batch', network, batch, lines: terms }, lines, pays }
}

function readAddress(
  { config, approvals }: Reading,
  terms: unknown,
): { network: Network; address: string; name: string } | null {
  const { network, address, name } = (terms ?? {}) as Readonly<Record<string, unknown>>
  const known = NETWORKS.find((each) => each === network)
  if (!known || typeof address !== 'string' || typeof name !== 'string' || name.length > 120) return null
  const asset = known === 'bitcoin' ? 'BTC' : known === 'litecoin' ? 'LTC' : 'ETH'
  try {
    readDestination(asset, approvals.mode === 'test' ? SIMULATED_MODE : config.modes[known], address)
    return { network: known, address, name }
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
