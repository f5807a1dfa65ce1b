/** What a test account can make happen to a payment, by buttons: the simulated chain does the rest. */
import type { SandboxTrouble } from '../../../accounts/account.ts'
import { ASSET_FACTS, networkOf } from '../../../core/assets.ts'
import { divideDown, formatDecimal } from '../../../core/money.ts'
import type { Payment } from '../../../payments/payment.ts'
import { type Html, html } from '../../hosted/html.ts'
import { button, card } from '../parts.ts'
import type { PlaceCall } from '../row.ts'
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

/** What goes wrong elsewhere, made to happen for some minutes to this test account alone. */
export function troubleCard({ here, place }: PlaceCall): Html {
  const { trouble } = place.account
  const act = (kind: string, label: string) =>
    button(`${here}/sandbox/trouble`, label, { fields: { trouble: kind } })
  return card(
    'Sandbox: when others fail',
    trouble
      ? html`<p><strong>${TROUBLES[trouble]}</strong> For five minutes at most; your server gets 503 and a reason for every new payment, and buyers are told.</p>${act('', 'All is well again')}`
      : html`<p class="hint">See what your shop does. For five minutes, and for this test account alone.</p><div class="actions">${act('no_rates', 'No exchange answers')}${act('dead_node', 'The nodes are down')}</div>`,
  )
}

const TROUBLES: Readonly<Record<SandboxTrouble, string>> = {
  no_rates: 'No exchange answers.',
  dead_node: 'The nodes are down.',
}
