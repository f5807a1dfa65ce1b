/**
 * A signed transaction of ours: where it is, and what can befall it there. One that opens a replacement set is joined by its
 * fee bumps; of a set only one can ever enter the chain, its children aside.
 */

export const SIGNED_KINDS = [
  'payout',
  'replacement',
  'child',
  /** Gathers UTXOs of ours in one, and pays nobody. */
  'consolidation',
  'gas',
  'sweep',
  'batch',
  'deploy',
] as const
export type SignedKind = (typeof SIGNED_KINDS)[number]

export const SIGNED_STATUSES = [
  /** Its rows are there, its bytes are not: the signer's journal is to know of it first. Never sent. */
  'placed',
  /** Its bytes may go out. Whether a node has it is not known. */
  'ready',
  /** A node took it. */
  'sent',
  /** The node refused it when it was sent last. */
  'refused',
  /** Sent before the database lost it, or found in the chain; followed, and sent only when the signer gives its bytes. */
  'recovered',
  /** A block holds it, not deep enough yet. */
  'mined',
  /** The same, and its call reverted: it cost its fee and moved nothing. */
  'mined_reverted',
  /** Deep enough in the chain, and booked. */
  'confirmed',
  /** Deep enough in the chain with its call reverted, and booked. */
  'reverted',
  /** Another one of its replacement set confirmed. */
  'displaced',
  /** What it spends is gone, or its nonce is used: it can never enter the chain. */
  'impossible',
] as const
export type SignedStatus = (typeof SIGNED_STATUSES)[number]

export const SIGNED_TRIGGERS = [
  /** The journal knows it as placed: here are its bytes. */
  'ready',
  /** A node, or a block, has it. */
  'sent',
  /** A node said no. */
  'refused',
  /** A block holds it. */
  'mined',
  /** A block holds it, and its call reverted. */
  'mined_reverted',
  /** Its block is deep enough. */
  'buried',
  /** A reorganisation took its block, or that of what had displaced it: it is sent again. */
  'reorganised',
  /** The same, where its bytes are not here. */
  'reorganised_without_bytes',
  /** Another one of its replacement set confirmed. */
  'displaced',
  /** What it spends was spent by others, or its nonce was used. */
  'impossible',
] as const
export type SignedTrigger = (typeof SIGNED_TRIGGERS)[number]

type Transitions = Readonly<Record<SignedStatus, Partial<Record<SignedTrigger, SignedStatus>>>>

const MAY_BE_MINED = {
  mined: 'mined',
  mined_reverted: 'mined_reverted',
  displaced: 'displaced',
  impossible: 'impossible',
} as const
/** What a node answered is heard late: it changes nothing about what the chain told since. */
const heardLate = <Status extends SignedStatus>(status: Status) =>
  ({ sent: status, refused: status }) as const
const TAKEN_BACK = { reorganised: 'ready', reorganised_without_bytes: 'recovered' } as const

const TRANSITIONS: Transitions = {
  placed: { ready: 'ready', displaced: 'displaced', impossible: 'impossible' },
  ready: { ...MAY_BE_MINED, sent: 'sent', refused: 'refused' },
  sent: { ...MAY_BE_MINED, sent: 'sent', refused: 'refused' },
  refused: { ...MAY_BE_MINED, sent: 'sent', refused: 'refused' },
  recovered: { ...MAY_BE_MINED, ...heardLate('recovered'), ready: 'ready' },
  mined: {
    ...heardLate('mined'),
    ...TAKEN_BACK,
    mined: 'mined',
    mined_reverted: 'mined_reverted',
    buried: 'confirmed',
    // Its block went with a reorganisation that nobody looked at before its rival was buried.
    displaced: 'displaced',
  },
  mined_reverted: {
    ...heardLate('mined_reverted'),
    ...TAKEN_BACK,
    mined: 'mined',
    mined_reverted: 'mined_reverted',
    buried: 'reverted',
    displaced: 'displaced',
  },
  confirmed: { ...heardLate('confirmed'), ...TAKEN_BACK },
  reverted: { ...heardLate('reverted'), ...TAKEN_BACK },
  displaced: { ...heardLate('displaced'), ...TAKEN_BACK },
  impossible: heardLate('impossible'),
}

/** What a signed transaction becomes; null when the trigger can not befall it in this state. */
export const signedStatusAfter = (status: SignedStatus, trigger: SignedTrigger): SignedStatus | null =>
  TRANSITIONS[status][trigger] ?? null

/** Nothing can be done about these any more, unless a reorganisation does it. */
const ENDS: readonly SignedStatus[] = ['confirmed', 'reverted', 'displaced', 'impossible']

/** It may still enter the chain, or its block may still go. */
export const isOpen = (status: SignedStatus): boolean => !ENDS.includes(status)

/** SQL for {@link isOpen} of an alias. The index of open ones stands on these very words. */
export const openSql = (alias: string): string =>
  `${alias}.status not in (${ENDS.map((status) => `'${status}'`).join(', ')})`

/**
 * SQL: a transaction of ours that is in a block, or may enter one yet. Of a replacement set only one does: while none of it is there the
 * newest, most likely; a child lives beside its parent. None while a coin that it spends is lost.
 */
export const comingSql = (alias: string): string => `(${alias}.block_height is not null or ${openSql(alias)}
  and not exists (select from signed_transactions n where n.chain = ${alias}.chain and n.replacement_set = ${alias}.replacement_set
    and n.kind = 'replacement' and n.created_at > ${alias}.created_at)
  and ${unrivalledSql(alias)} and not ${lostCoinSql(alias)})`

/**
 * SQL: a reorganisation took the block of a coin that its replacement set spends, and no block has it again. What others sent may never
 * come back: whoever made it may have spent what it was made of.
 */
export const lostCoinSql = (
  alias: string,
): string => `exists (select from utxos l where l.chain = ${alias}.chain
  and l.reserved_by = ${alias}.replacement_set and l.block_height is null
  and not exists (select from signed_transactions o where o.chain = l.chain and o.txid = l.txid and o.replacement_set = l.reserved_by))`

/** SQL: no block holds a transaction of its replacement set that it cannot live beside, as a child lives beside its parent. */
export const unrivalledSql = (alias: string): string =>
  `(${alias}.kind = 'child' or not exists (select from signed_transactions m where m.chain = ${alias}.chain
    and m.replacement_set = ${alias}.replacement_set and m.kind <> 'child' and m.block_height is not null))`

/** It is in a block, and moved nothing. */
export const hasReverted = (status: SignedStatus): boolean =>
  status === 'mined_reverted' || status === 'reverted'

/** SQL for {@link hasReverted} of an alias. */
export const revertedSql = (alias: string): string => `${alias}.status in ('mined_reverted', 'reverted')`
