/**
 * What the one contract of the simulated Ethereum does: the delegate that deposit addresses are swept through (EIP-7702;
 * chains/ethereum/contracts/SweepDelegate.sol). What a call moves follows from what is there when its block is made, and is
 * taken back with the block.
 *
 * Who delegates and where the delegate stands are claims like nonces: {@link delegationClaim} and {@link codeClaim}.
 */
import type { Outpoint } from '../chain.ts'
import { delegateAddress } from '../ethereum/delegate.ts'
import {
  type Balances,
  type Call,
  type ChainReads,
  type Holding,
  holdingKey,
  type SimulatedTransaction,
} from './chain-store.ts'

const codeClaim = (treasury: string): Outpoint => ({
  txid: `code:${delegateAddress(treasury).toLowerCase()}`,
  index: 0,
})
const delegationClaim = (account: string, treasury: string): Outpoint => ({
  txid: `delegation:${account}:${delegateAddress(treasury).toLowerCase()}`,
  index: 0,
})

export const isDeployed = async (reads: ChainReads, treasury: string): Promise<boolean> =>
  (await reads.nextNonce(codeClaim(treasury).txid)) > 0n

export const isDelegated = async (reads: ChainReads, account: string, treasury: string): Promise<boolean> =>
  (await reads.nextNonce(delegationClaim(account, treasury).txid)) > 0n

/** Whose balances a transaction may move beyond those that it names. */
export const touchedBy = ({ call }: SimulatedTransaction): Uint8Array[] =>
  call ? [call.treasury, ...call.sweeps.map(({ account }) => account)].map(lookupOfAccount) : []

export const lookupOfAccount = (account: string): Uint8Array =>
  new Uint8Array(Buffer.from(account.slice(2), 'hex'))

/** What blocks say of accounts while one is made: their next nonces, and the claims that stand for code. */
export interface Accounts {
  readonly nonces: Map<string, number>
  readonly codes: Set<string>
}

/** What including these needs to know. */
export async function readAccounts(
  reads: ChainReads,
  waiting: readonly SimulatedTransaction[],
): Promise<Accounts> {
  const accounts: Accounts = { nonces: new Map(), codes: new Set() }
  const readNonce = async (account: string) => {
    if (!accounts.nonces.has(account)) accounts.nonces.set(account, Number(await reads.nextNonce(account)))
  }
  for (const { call, claims, debits } of waiting) {
    if (debits.length > 0 && claims[0]) await readNonce(claims[0].txid)
    if (!call) continue
    const { treasury, authorizations, sweeps } = call
    for (const { account } of authorizations) await readNonce(account)
    const code = codeClaim(treasury).txid
    if (await isDeployed(reads, treasury)) accounts.codes.add(code)
    for (const { account } of [...authorizations, ...sweeps])
      if (await isDelegated(reads, account, treasury))
        accounts.codes.add(delegationClaim(account, treasury).txid)
  }
  return accounts
}

/** Whether its nonce is the one that its sender uses next. Coins out of nowhere have none. */
export const isNext = ({ nonces }: Accounts, { claims: [claim], debits }: SimulatedTransaction): boolean =>
  debits.length === 0 || claim === undefined || nonces.get(claim.txid) === claim.index

/** Notes the nonce that a transaction used. */
export function countNonce({ nonces }: Accounts, { claims: [claim] }: SimulatedTransaction): void {
  if (claim && nonces.has(claim.txid)) nonces.set(claim.txid, claim.index + 1)
}

/** The transaction with what its call does now: an authorisation of another nonce is passed over, and so is who does not delegate. */
export function execute(
  transaction: SimulatedTransaction,
  call: Call,
  balances: Balances,
  { nonces, codes }: Accounts,
): SimulatedTransaction {
  const { treasury } = call
  const claims: Outpoint[] = []
  const take = (claim: Outpoint) => {
    if (!codes.has(claim.txid)) claims.push(claim)
    codes.add(claim.txid)
  }
  for (const { account, nonce } of call.authorizations) {
    if (nonces.get(account) !== nonce) continue
    nonces.set(account, nonce + 1)
    claims.push({ txid: account, index: nonce })
    take(delegationClaim(account, treasury))
  }
  if (call.kind === 'deploy') take(codeClaim(treasury))
  const moved: Holding[] = []
  const isThere = codes.has(codeClaim(treasury).txid)
  for (const { account, asset } of isThere ? call.sweeps : []) {
    if (!codes.has(delegationClaim(account, treasury).txid)) continue
    const lookup = lookupOfAccount(account)
    const before = moved.some(
      (each) => each.asset === asset && holdingKey(each) === holdingKey({ lookup, asset }),
    )
    const atoms = before ? 0n : (balances.get(holdingKey({ lookup, asset })) ?? 0n)
    if (atoms > 0n) moved.push({ lookup, asset, atoms })
  }
  const receiver = lookupOfAccount(treasury)
  return {
    ...transaction,
    claims: [...transaction.claims, ...claims],
    debits: [...transaction.debits, ...moved],
    outputs: moved.map((each, index) => ({ ...each, lookup: receiver, index })),
  }
}

/** The same while it waits: it has moved nothing, and used nothing but its own nonce. */
export const unexecuted = (transaction: SimulatedTransaction): SimulatedTransaction => ({
  ...transaction,
  claims: transaction.claims.slice(0, 1),
  debits: transaction.debits.slice(0, 1),
  outputs: [],
})
