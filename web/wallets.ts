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
/** Transfers that a wallet has sent. */
const sent = new Set<string>()

export function lookForWallets(): void {
  addEventListener('eip6963:announceProvider', (event) => {
    const wallet = (event as CustomEvent<Wallet>).detail
    if (typeof wallet?.info?.uuid !== 'string' || !wallet.provider) return
    wallets.set(wallet.info.uuid, wallet)
    offerWallets()
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
}

export function offerWallets(): void {
  const place = document.querySelector<HTMLElement>('.wallets')
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
    button.append(payWith.replace('{wallet}', wallet.info.name))
    button.addEventListener('click', () => pay(place, transfer, wallet.provider))
    place.append(button)
  }
  if (sent.has(transfer)) say(place, place.dataset.sent, true)
}

async function pay(place: HTMLElement, transfer: string, provider: Provider): Promise<void> {
  const { chainId, to, value, data } = JSON.parse(transfer) as Record<string, string>
  say(place, place.dataset.opened, true)
  try {
    const [from] = (await provider.request({ method: 'eth_requestAccounts' })) as string[]
    if ((await provider.request({ method: 'eth_chainId' })) !== chainId)
      await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
    // A wallet that stays on another chain would send the coins where nobody looks for them.
    if ((await provider.request({ method: 'eth_chainId' })) !== chainId) throw new Error('another chain')
    await provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value, data }] })
    sent.add(transfer)
    say(place, place.dataset.sent, true)
  } catch {
    say(place, place.dataset.failed, false)
  }
}

function say(place: HTMLElement, text: string | undefined, isBusy: boolean): void {
  for (const button of place.querySelectorAll('button')) button.disabled = isBusy
  let line = place.querySelector('p')
  if (!line) {
    line = document.createElement('p')
    place.append(line)
  }
  line.textContent = text ?? ''
  announce(text ?? '')
}
