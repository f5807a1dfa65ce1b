/** What the hot wallet was given without any transaction of ours, nor any that a block announced. */
import type { ChainName } from '../core/assets.ts'
import { SENT_BY_CONTRACT } from '../core/ether-outputs.ts'
import type { Gateway } from '../flows/gateway.ts'
import { recordUnexpectedDeposits } from '../treasury/unexpected-deposits.sql.ts'
import { listHotWallets } from './holdings.sql.ts'
import { lockTip } from './prove-block.sql.ts'

export interface GiftMemory {
  /** A gift to the hot wallet that was there at the proof before: its atoms, and at which tip. */
  gift?: { readonly atoms: bigint; readonly tipHash: string } | undefined
}

/** Ether that stays from one block to the next without any transaction of ours is the operator's capital. */
export async function takeGift(
  gateway: Pick<Gateway, 'db' | 'log'>,
  chain: ChainName,
  atoms: bigint,
  tipHash: string,
  memory: GiftMemory,
): Promise<void> {
  const before = memory.gift
  memory.gift = { atoms, tipHash }
  if (before?.atoms !== atoms || before.tipHash === tipHash) return
  const [address] = await listHotWallets(gateway.db, chain)
  if (!address) return
  await gateway.db.transaction(async (tx) => {
    const tip = await lockTip(tx, chain)
    if (tip?.hash !== tipHash) return
    const lookup = Buffer.from(address.slice(2), 'hex')
    const output = { lookup, index: SENT_BY_CONTRACT, asset: 'ETH', atoms } as const
    await recordUnexpectedDeposits(
      tx,
      chain,
      `internal:${tipHash}:${address.toLowerCase()}`,
      [output],
      tip.height,
    )
    gateway.log.info({ chain, atoms: String(atoms) }, 'the hot wallet received ether that no block announced')
  })
}
