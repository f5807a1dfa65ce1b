/** What a test account can make happen to a payment, by buttons: the simulated chain does the rest. */
import { ASSET_FACTS, networkOf } from '../../../core/assets.ts'
import { divideDown, formatDecimal } from '../../../core/money.ts'
import type { Payment } from '../../../payments/payment.ts'
import { type Html, html } from '../../hosted/html.ts'
import { button, card } from '../parts.ts'
import { coins, networkName, plural } from '../words.ts'

export function sandboxCard(payment: Payment, path: string): Html {
  const { asset, dueAtoms, requiredConfirmations } = payment
  const { decimals } = ASSET_FACTS[asset]
  const act = (
    name: string,
    label: string,
    fields: Record<string, string> = {},
    tone: 'primary' | 'plain' = 'plain',
  ) => button(`${path}/sandbox/${name}`, label, { fields, tone })
  const isOpen = payment.status === 'pending'
  const network = networkName(networkOf(asset))
  return card(
    'Sandbox',
    html`<p class="hint">You are the buyer and the network. Coins cost nothing here.</p><div class="actions">${act('pay', `Pay ${coins(dueAtoms, asset)}`, { amount: formatDecimal(dueAtoms, decimals) }, isOpen ? 'primary' : 'plain')}${act('pay', 'Pay half of it', { amount: formatDecimal(divideDown(dueAtoms, 2n), decimals) })}${act('pay', 'Pay twice as much', { amount: formatDecimal(2n * dueAtoms, decimals) })}</div>
<div class="actions">${act('mine', `Mine ${plural(requiredConfirmations, 'block')}`, { count: String(requiredConfirmations) }, payment.status === 'detected' ? 'primary' : 'plain')}${act('mine', 'Mine 1', { count: '1' })}${act('reorganise', `Reorganise ${network}`)}${act('replace', 'Double-spend')}${isOpen && act('expire', 'End the window')}</div>`,
  )
}
