/** What a transaction that is being put together has leave freely, added up as it grows, with what left freely within the day. */
import type { Asset } from '../../core/assets.ts'
import { showId } from '../../core/ids.ts'
import { nameOf } from '../../treasury/signed-entry.ts'
import type { WithdrawalRequest } from '../../withdrawals/withdrawal.ts'
import type { LeftFreely } from './left-freely.ts'

/** What leaves freely, as far as it is counted. */
type Leaving = Pick<WithdrawalRequest, 'accountId' | 'id' | 'asset' | 'amountAtoms'>

interface Sum {
  /** Gross atoms that left, and are about to; null while it is not known. */
  atoms: bigint | null
}

export class PlannedFreely {
  readonly #left: LeftFreely
  readonly #sums = new Map<string, Sum>()
  readonly #names = new Set<string>()

  constructor(left: LeftFreely) {
    this.#left = left
  }

  /** Another one that leaves freely. */
  add(request: Leaving, now: number): void {
    const name = nameOf(request)
    if (this.#names.has(name)) return
    const sum = this.#sumOf(request, now)
    // Counted by a signer that died before it signed, it is counted once.
    if (sum.atoms !== null) sum.atoms += request.amountAtoms - this.#counted(request, now)
    this.#names.add(name)
  }

  /** Gross atoms of a request's coin that leave its account freely besides, within the day; null while it is not known. */
  besides(request: Leaving, now: number): bigint | null {
    const { atoms } = this.#sumOf(request, now)
    if (atoms === null) return null
    if (this.#names.has(nameOf(request))) return atoms - request.amountAtoms
    return atoms - this.#counted(request, now)
  }

  /** What leaves the day while a transaction is put together is counted still. */
  #sumOf(request: Leaving, now: number): Sum {
    const [account, asset] = accountAndAsset(request)
    const key = `${account} ${asset}`
    const known = this.#sums.get(key) ?? { atoms: this.#left.sum(account, asset, now) }
    this.#sums.set(key, known)
    return known
  }

  #counted(request: Leaving, now: number): bigint {
    return this.#left.countedOf(...accountAndAsset(request), nameOf(request), now)
  }
}

const accountAndAsset = ({ accountId, asset }: Leaving): [account: string, asset: Asset] => [
  showId('acct', accountId),
  asset,
]
