/** Names of transactions as UTXO chains have them. */
import { createHash } from 'node:crypto'

/** The same for the same name. */
export const txidOf = (name: string): string => createHash('sha256').update(name).digest('hex')
