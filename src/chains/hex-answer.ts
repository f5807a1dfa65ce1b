/**
 * An answer whose result is one long hexadecimal text, as a node's answer about a block is: what it says is had as bytes when its
 * last piece has come, and neither eight megabytes of text nor JSON of that size is ever made of it.
 */
const RESULT_OPENS = /"result"\s*:\s*"/
/** Of the answer; members that nodes write before the result are short. */
const OPENS_WITHIN = 1_024
const QUOTE = 0x22

export class HexAnswer {
  /** What is no digit of the result. */
  #around: Buffer[] = []
  readonly #bytes: Buffer[] = []
  /** A digit whose second is in the next piece. */
  #odd = ''
  #place: 'before' | 'within' | 'behind' = 'before'
  #isHex = true

  add(piece: Buffer): void {
    let left = piece
    if (this.#place === 'before') left = this.#open(left)
    if (this.#place === 'within') left = this.#decode(left)
    if (left.length > 0) this.#around.push(left)
  }

  /** The answer with an empty text for result; as it came where it has none. */
  get json(): string {
    return Buffer.concat(this.#around).toString('utf8')
  }

  /** What the digits of the result say; null where it has anything but pairs of digits. */
  get bytes(): Buffer | null {
    return this.#isHex ? Buffer.concat(this.#bytes) : null
  }

  /** @returns What follows the opening quote, or nothing. */
  #open(piece: Buffer): Buffer {
    const all = Buffer.concat([...this.#around, piece])
    const opening = RESULT_OPENS.exec(all.toString('latin1', 0, OPENS_WITHIN))
    const from = opening ? opening.index + opening[0].length : all.length
    if (opening) this.#place = 'within'
    else if (all.length > OPENS_WITHIN) this.#place = 'behind'
    this.#around = [all.subarray(0, from)]
    return all.subarray(from)
  }

  /** @returns What follows the last digit, the closing quote first. */
  #decode(piece: Buffer): Buffer {
    const quote = piece.indexOf(QUOTE)
    const end = quote === -1 ? piece.length : quote
    const digits = this.#odd + piece.toString('latin1', 0, end)
    const bytes = Buffer.from(digits, 'hex')
    const isOdd = digits.length % 2 === 1
    const isCut = isOdd && quote === -1
    if (2 * bytes.length !== digits.length - (isCut ? 1 : 0)) this.#isHex = false
    this.#odd = isCut ? digits.slice(-1) : ''
    this.#bytes.push(bytes)
    if (quote !== -1) this.#place = 'behind'
    return piece.subarray(end)
  }
}
