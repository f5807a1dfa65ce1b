/** Blocks as Bitcoin serialises them, made of random transactions of the commonest kind: P2WPKH, two in, two out. */
import { randomBytes } from 'node:crypto'
import { doubleSha256Hex } from '../../src/chains/bitcoin/transaction.ts'

export interface MadeBlock {
  readonly hash: string
  readonly bytes: Buffer
  readonly outputs: number
}

const SEGWIT_VERSION_2 = Buffer.from('02000000000102', 'hex')
const INPUT_END = Buffer.from('0100000000ffffffff', 'hex')
const P2WPKH = Buffer.from('160014', 'hex')

/**
 * @param paying - Key hashes of P2WPKH addresses that the first transactions pay, each with these atoms.
 */
export function makeBlock(
  parentHash: string,
  bytesMin: number,
  paying: readonly { readonly keyHash: Uint8Array; readonly atoms: number }[],
): MadeBlock {
  const parts: Buffer[] = []
  let size = 0
  let transactions = 0
  while (size < bytesMin) {
    const paid = paying[transactions]
    const transaction = Buffer.concat([
      SEGWIT_VERSION_2,
      ...[0, 1].flatMap(() => [randomBytes(32), INPUT_END]),
      Buffer.of(2),
      ...[amount(paid?.atoms ?? 54_321), P2WPKH, paid?.keyHash ?? randomBytes(20)],
      ...[amount(12_345), P2WPKH, randomBytes(20)],
      ...[0, 1].flatMap(() => [Buffer.of(2, 72), randomBytes(72), Buffer.of(33), randomBytes(33)]),
      Buffer.alloc(4),
    ])
    parts.push(transaction)
    size += transaction.length
    transactions += 1
  }
  const header = randomBytes(80)
  Buffer.from(parentHash, 'hex').reverse().copy(header, 4)
  header.writeUInt32LE(Math.floor(Date.now() / 1000), 68)
  const count = Buffer.of(0xfd, transactions & 0xff, transactions >> 8)
  return {
    hash: doubleSha256Hex(header),
    bytes: Buffer.concat([header, count, ...parts]),
    outputs: transactions * 2,
  }
}

function amount(atoms: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32LE(atoms)
  return bytes
}
