/** A transaction by its id: to copy, and where everybody can look at it. Private and simulated networks have no such place. */
import { type Asset, networkOf } from '../../core/assets.ts'
import { type Html, html } from '../hosted/html.ts'
import { explorerUrl } from '../hosted/networks.ts'
import { copyable } from './parts.ts'
import type { PlaceCall } from './row.ts'

export function transaction({ installation, place }: PlaceCall, asset: Asset, hash: string): Html {
  const isLive = place.account.mode === 'live'
  const url = explorerUrl(installation.networks, networkOf(asset), isLive, hash)
  return html`${copyable(hash, 'Copy the transaction')}${url && html` <a href="${url}" target="_blank" rel="noopener noreferrer">Look at it in an explorer</a>`}`
}
