/**
 * Wallets that live in the browser (EIP-6963): each gets a button that fills in the transfer the server wrote. What is
 * asked of a wallet is asked once: after it sent, the buttons stay off until the page shows the payment.
 */
import { announce } from './announce.ts'

interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>
}

interface Wallet {
  readonly info: { readonly uuid: string; readonly name: string; readonly icon: string }
  readonly provider: Provider
}

const wallets = new Map<string, Wallet>()
/** Transfers that a wallet was asked for or has sent, even if the page was drawn anew meanwhile. */
const asked = new Map<string, 'opened' | 'sent'>()

export function lookForWallets(): void {
  addEventListener('eip6963:announceProvider', (event) => {
    const wallet = (event as CustomEvent<Wallet>).detail
    const { uuid, name, icon } = wallet?.info ?? {}
    if ([uuid, name, icon].some((text) => typeof text !== 'string') || !wallet.provider) return
    wallets.set(wallet.info.uuid, wallet)
    offerWallets()
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
}

export function offerWallets(): void {
  const place = document.querySelector<HTMLElement>('.wallets')
  // The page shows the payment by now: what is asked next is another one.
  if (!place) asked.clear()
  if (!place || wallets.size === 0) return
  place.hidden = false
  const { transfer = '', payWith = '' } = place.dataset
  for (const [uuid, wallet] of wallets) {
    if ([...place.querySelectorAll('button')].some((button) => button.dataset.uuid === uuid)) continue
    const button = document.createElement('button')
    button.type = 'button'
    button.dataset.uuid = uuid
    // Its own picture, when it is one that cannot lead anywhere else.
    if (wallet.info.icon.startsWith('data:image/')) {
      const icon = new Image(24, 24)
      icon.alt = ''
      icon.src = wallet.info.icon
      button.append(icon)
    }
    button.append(payWith.replace('{wallet}', () => wallet.info.name))
    button.addEventListener('click', () => pay(transfer, wallet.provider))
    place.append(button)
  }
  const state = asked.get(transfer)
  if (state) say(transfer, state)
}

async function pay(transfer: string, provider: Provider): Promise<void> {
  const { chainId, to, value, data } = JSON.parse(transfer) as Record<string, string>
  asked.set(transfer, 'opened')
  say(transfer, 'opened')
  try {
    const [from] = (await provider.request({ method: 'eth_requestAccounts' })) as string[]
    if ((await provider.request({ method: 'eth_chainId' })) !== chainId)
      await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
    // A wallet that stays on another chain would send the coins where nobody looks for them.
    if ((await provider.request({ method: 'eth_chainId' })) !== chainId) throw new Error('another chain')
    await provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value, data }] })
    asked.set(transfer, 'sent')
    say(transfer, 'sent')
  } catch {
    asked.delete(transfer)
    say(transfer, 'failed')
  }
}

/** Beside the buttons of that transfer, if they are still there. */
function say(transfer: string, what: 'opened' | 'sent' | 'failed'): void {
  const place = document.querySelector<HTMLElement>('.wallets')
  if (place?.dataset.transfer !== transfer) return
  for (const button of place.querySelectorAll('button')) button.disabled = what !== 'failed'
  const line = place.querySelector('p') ?? document.createElement('p')
  place.append(line)
  const text = place.dataset[what] ?? ''
  if (line.textContent === text) return
  line.textContent = text
  announce(text)
}
