/**
 * Positions of ether in a transaction, where tokens and coins of chains with outputs have a number of their own: stored as
 * `output_index`, and shown by every adapter of Ethereum.
 */

/** What the transaction itself sends: a top-level transfer. */
export const SENT_TOP_LEVEL = -1

/** What contracts sent: no output of one transaction says it, but the change of an account's balance within a block. */
export const SENT_BY_CONTRACT = -2
