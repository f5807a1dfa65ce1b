/**
 * A transaction in the chain that took coins of ours and that Beck does not know: a payout that a restored database has
 * forgotten, or forgotten in part, or what the operator sent by hand. The operator names it. What it paid to open withdrawals
 * completes them; the rest, whose withdrawals were requested after the backup, is the gateway's loss until the operator settles
 * it with the merchants. Nothing is paid by this, and nothing can be sent by it.
 */
import type { ChainPort } from '../../chains/chain.ts'
import { type ChainName, hasAccounts, nativeAsset } from '../../core/assets.ts'
import { conflict, invariant, type Refusal } from '../../core/errors.ts'
import type { Tx } from '../../db/database.ts'
import { findCurrentWallet } from '../../wallets/wallets.sql.ts'
import { readDestination } from '../../withdrawals/destination.ts'
import type { Gateway } from '../gateway.ts'
import { listOwnTransactions, matchOwnAddresses } from '../watching/own-addresses.sql.ts'
import { bookMove, readMove } from './book-move.ts'
import {
  findKnownPayout,
  findSpentUtxos,
  insertFound,
  lockPayable,
  type OpenWithdrawal,
  type SpentUtxos,
} from './book-spend.sql.ts'
import { type BookedSpend, bookLoss, known, tooFresh, unknown } from './spend-entry.ts'

/** As deep as any deposit has to be, whatever the operator's settings. */
const DEPTH_MIN = 6

/**
 * Books a forgotten payout, or what was sent by hand.
 *
 * @param options.loss - Takes what no open withdrawal asked for as the gateway's loss; without it such a payout is refused,
 *   and the refusal says how much that is.
 * @throws {Refusal} `not_found` when no block that was read holds it; `conflict` when it is not deep enough, known already,
 *   spends UTXOs of others too, or does what cannot be told.
 */
export async function bookSpend(
  gateway: Pick<Gateway, 'db' | 'secrets'>,
  port: ChainPort,
  txid: string,
  options: { readonly loss: boolean },
): Promise<BookedSpend> {
  const { chain } = port
  const move = hasAccounts(chain) ? await readMove(gateway.db, port, txid) : null
  if (move) return gateway.db.transaction((tx) => bookMove(gateway, tx, move, options))
  const found = hasAccounts(chain) ? null : await readSpend(gateway, port, txid)
  return gateway.db.transaction(async (tx) => {
    const paid = found ? await adopt(gateway, tx, chain, txid, found) : []
    const payout = await findKnownPayout(tx, chain, txid)
    if (!payout) throw found ? unknown(chain, txid) : noPayout(txid)
    const lossAtoms = payout.valueAtoms - payout.paidAtoms - payout.bookedAtoms
    invariant(lossAtoms >= 0n, `transaction ${txid} pays less than its withdrawals asked for`)
    if (!found) {
      if (lossAtoms === 0n) throw known(txid)
      if (payout.depth <= 0) throw unknown(chain, txid)
      // What the journal gave back is followed like any payout; a loss is booked only of what is hardly taken back any more.
      if (!(payout.isFinal && payout.depth >= DEPTH_MIN)) throw tooFresh(txid, payout.depth, DEPTH_MIN)
    }
    if (lossAtoms > 0n) await bookLoss(tx, { chain, ...payout }, lossAtoms, options.loss)
    return {
      asset: payout.asset,
      paid: paid.map(({ id }) => id),
      feeAtoms: payout.feeAtoms,
      lossAtoms,
      movedAtoms: 0n,
      gasAtoms: 0n,
    }
  })
}

const noPayout = (txid: string): Refusal =>
  conflict(
    'spend_known',
    `transaction ${txid} is one of Beck's own, and pays nobody: it is followed by itself`,
  )

interface FoundSpend {
  readonly utxos: SpentUtxos
  readonly foreign: readonly { readonly lookup: Uint8Array; readonly atoms: bigint }[]
  readonly feeAtoms: bigint
}

/** What the chain shows of a transaction that spends UTXOs of ours; null when it is no stranger. */
async function readSpend(
  { db }: Pick<Gateway, 'db'>,
  port: ChainPort,
  txid: string,
): Promise<FoundSpend | null> {
  const { chain } = port
  if ((await listOwnTransactions(db, chain, [txid])).has(txid)) return null
  const utxos = await findSpentUtxos(db, chain, txid)
  const hash = utxos && (await port.blockHash(utxos.height))
  const block = hash ? await port.readBlock(hash) : null
  const transaction = block?.transactions.find(({ key }) => key === txid)
  if (!utxos || !transaction) throw unknown(chain, txid)
  if (utxos.depth < DEPTH_MIN) throw tooFresh(txid, utxos.depth, DEPTH_MIN)
  if (transaction.inputs.length !== utxos.count)
    throw conflict(
      'spend_not_ours',
      `transaction ${txid} spends ${utxos.count} coins of ours and ${transaction.inputs.length - utxos.count} of others; Beck signs none such`,
    )
  const { outputs } = transaction
  const own = await matchOwnAddresses(db, chain, [transaction])
  return {
    utxos,
    foreign: outputs.filter(({ lookup }) => own.find(lookup) === undefined),
    feeAtoms: utxos.atoms - outputs.reduce((sum, { atoms }) => sum + atoms, 0n),
  }
}

/** Makes it one of our transactions, and finds what it paid. */
async function adopt(
  gateway: Pick<Gateway, 'secrets'>,
  tx: Tx,
  chain: ChainName,
  txid: string,
  { utxos, foreign, feeAtoms }: FoundSpend,
): Promise<readonly OpenWithdrawal[]> {
  const asset = nativeAsset(chain)
  const wallet = await findCurrentWallet(tx, gateway.secrets, chain)
  if (!wallet) throw unknown(chain, txid)
  const match = (open: readonly OpenWithdrawal[]) => {
    const left = [...foreign]
    return open.filter(({ destination, netAtoms }) => {
      const script = Buffer.from(readDestination(asset, wallet.mode, destination).lookup)
      const at = left.findIndex(({ lookup, atoms }) => atoms === netAtoms && script.equals(lookup))
      if (at >= 0) left.splice(at, 1)
      return at >= 0
    })
  }
  let [replacementSet, paid]: [string, readonly OpenWithdrawal[] | null] = [txid, null]
  for (const each of utxos.sets) {
    const ofSet = await lockPayable(tx, chain, each)
    if (ofSet.length === 0 || match(ofSet).length < ofSet.length) continue
    replacementSet = each
    paid = ofSet
    break
  }
  paid ??= match(await lockPayable(tx, chain, null))
  const valueAtoms = foreign.reduce((sum, { atoms }) => sum + atoms, 0n)
  await insertFound(
    tx,
    { chain, txid, replacementSet, asset, valueAtoms, feeAtoms, height: utxos.height },
    paid,
  )
  return paid
}
