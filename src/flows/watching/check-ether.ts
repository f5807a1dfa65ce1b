/**
 * Finds ether that reached our addresses and that no block showed us: sent by contracts to addresses too old to be
 * compared in every block, or while the node had the state of those blocks no longer. Once a day, and whenever blocks
 * were read without their state or taken by a reorganisation, what every address holds is compared with what the blocks of
 * our branch explain (`ether_of` in the schema). What is derived never exceeds that.
 *
 * It goes page by page beside the watcher, which never waits for it; how far it came is kept in the database.
 */
import type { ChainPort, ChainTransaction } from '../../chains/chain.ts'
import { fence, type Lease } from '../../chains/chain-progress.sql.ts'
import { SENT_BY_CONTRACT } from '../../core/ether-outputs.ts'
import { markDecisionDue } from '../../payments/payments.sql.ts'
import type { Gateway } from '../gateway.ts'
import {
  advanceEtherCheck,
  askEtherCheck,
  endEtherCheck,
  listRecordedEther,
  openEtherCheck,
  type RecordedEther,
} from './check-ether.sql.ts'
import { matchOwnAddresses } from './own-addresses.sql.ts'
import { recordDeposits } from './record-deposits.ts'
import { withdrawPhantoms } from './withdraw-phantoms.ts'

const ADDRESSES_PER_PAGE = 3_000

/**
 * Compares the next page of addresses. Does nothing while no comparison is due, or on chains whose outputs all have a
 * transaction. The surplus of an address becomes a deposit in the present tip block; a want that nobody's key explains takes back
 * deposits that were derived from balances.
 *
 * @returns Whether there is another page to compare at once.
 * @throws {StaleLease} when the lease is over.
 * @throws {OutsideFailure} when the node fails; the page is compared again by the next call.
 */
export async function checkEther(gateway: Gateway, port: ChainPort, lease: Lease): Promise<boolean> {
  const check = port.etherAt ? await openEtherCheck(gateway.db, port.chain) : null
  if (!port.etherAt || !check) return false
  const page = await listRecordedEther(gateway.db, port.chain, check, ADDRESSES_PER_PAGE)
  const last = page.at(-1)
  if (!last) {
    await gateway.db.transaction(async (tx) => {
      await fence(tx, lease, { prolongs: false })
      await endEtherCheck(tx, port.chain)
    })
    return false
  }
  const compared = page.filter((entry) => !entry.isOpen)
  const balance = await port.etherAt(
    last.tipHash,
    compared.map((entry) => entry.address),
  )
  const unlike = compared.map((entry, position) => ({
    ...entry,
    atoms: (balance[position] ?? 0n) - entry.recordedAtoms,
  }))
  for (const entry of unlike)
    if (entry.atoms < 0n) await withdrawPhantoms(gateway, port, lease, { ...entry, atoms: -entry.atoms })
  await recordPage(
    gateway,
    lease,
    last,
    unlike.filter((entry) => entry.atoms > 0n),
  )
  return true
}

/** Changes nothing when the tip moved meanwhile: what was compared is no longer what is recorded. */
async function recordPage(
  gateway: Gateway,
  lease: Lease,
  last: RecordedEther,
  surplus: readonly (RecordedEther & { atoms: bigint })[],
): Promise<void> {
  const transactions: ChainTransaction[] = surplus.map(({ address, lookup, atoms, tipHash }) => ({
    key: `internal:${tipHash}:${address.toLowerCase()}`,
    hash: null,
    outputs: [{ lookup, index: SENT_BY_CONTRACT, asset: 'ETH', atoms }],
    inputs: [],
  }))
  const own = await matchOwnAddresses(gateway.db, lease.chain, transactions)
  await gateway.db.transaction(async (tx) => {
    const { tipHash, tipHeight, tipTime } = await fence(tx, lease, { prolongs: false })
    if (surplus.length > 0) {
      if (last.tipHash !== tipHash) return
      const touched = await recordDeposits(gateway, tx, lease.chain, own, {
        block: { height: tipHeight, hash: tipHash },
        time: tipTime,
      })
      await markDecisionDue(tx, touched)
      // What was found may hide more in the same block, under the same name.
      await askEtherCheck(tx, lease.chain)
      gateway.log.warn(
        { chain: lease.chain, addresses: surplus.length },
        'addresses held ether that no block had shown; it is recorded now',
      )
    }
    await advanceEtherCheck(tx, lease.chain, last.lookup)
  })
  if (surplus.length > 0) gateway.wake('settle')
}
