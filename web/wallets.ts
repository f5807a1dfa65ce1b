/**
 * Wallets that live in the browser (EIP-6963): each gets a button that fills in the transfer the server wrote. What is
 * asked of a wallet is asked once: while it is open the buttons stay off, and what it sent is told to the server, so that
 * no reload, no second tab and no cancelling asks for it again.
 */
import { announce } from './announce.ts'
import { recall, remember } from './keep.ts'
import { refresh } from './live.ts'
import { shownContent } from './replace.ts'

interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>
}

interface Wallet {
  readonly info: { readonly uuid: string; readonly name: string; readonly icon: string }
  readonly provider: Provider
}

type Step = 'opened' | 'silent' | 'sent' | 'refused' | 'chain' | 'failed'

/** A wallet may never answer: its question was closed, or lost with its window. */
const SILENT_MS = 60_000
const TELL_AGAIN_MS = 2_000
/** EIP-1193. */
const REFUSED = 4001

const wallets = new Map<string, Wallet>()
/** Transfers that a wallet was asked for or has sent, even if the page was drawn anew meanwhile. */
const asked = new Map<string, Step>()

export function lookForWallets(): void {
  addEventListener('eip6963:announceProvider', (event) => {
    const wallet = (event as CustomEvent<Wallet>).detail
    const { uuid, name, icon } = wallet?.info ?? {}
    if ([uuid, name, icon].some((text) => typeof text !== 'string') || !wallet.provider) return
    wallets.set(wallet.info.uuid, wallet)
    offerWallets()
  })
  dispatchEvent(new Event('eip6963:requestProvider'))
  tellSent()
}

export function offerWallets(): void {
  const place = document.querySelector<HTMLElement>('.wallets')
  // The page shows the payment by now: what is asked next is another one.
  if (!place) asked.clear()
  if (!place || wallets.size === 0) return
  place.hidden = false
  const { transfer = '', payWith = '', payment = '' } = place.dataset
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
    button.addEventListener('click', () => pay(transfer, payment, wallet.provider))
    place.append(button)
  }
  // Opened before the page was loaded anew, or in another tab: perhaps it is still open, perhaps it has sent.
  const step = asked.get(transfer) ?? (recall('localStorage', opened()) === transfer ? 'silent' : null)
  if (step) say(transfer, step)
}

async function pay(transfer: string, payment: string, provider: Provider): Promise<void> {
  const { chainId, to, value, data } = JSON.parse(transfer) as Record<string, string>
  say(transfer, 'opened')
  const silence = setTimeout(() => say(transfer, 'silent'), SILENT_MS)
  try {
    const [from] = (await provider.request({ method: 'eth_requestAccounts' })) as string[]
    if (!(await isOn(provider, chainId))) return say(transfer, 'chain')
    const hash = await provider.request({
      method: 'eth_sendTransaction',
      params: [{ from, to, value, data }],
    })
    say(transfer, 'sent')
    keepSent({ payment, hash: String(hash) })
  } catch (error) {
    say(transfer, (error as { code?: unknown } | null)?.code === REFUSED ? 'refused' : 'failed')
  } finally {
    clearTimeout(silence)
  }
}

/** A wallet that stays on another chain would send the coins where nobody looks for them. */
async function isOn(provider: Provider, chainId: string | undefined): Promise<boolean> {
  const current = () => provider.request({ method: 'eth_chainId' })
  if ((await current()) === chainId) return true
  try {
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code === REFUSED) throw error
    return false
  }
  return (await current()) === chainId
}

/** Beside the buttons of that transfer, if they are still there. */
function say(transfer: string, step: Step): void {
  asked.set(transfer, step)
  remember('localStorage', opened(), step === 'opened' || step === 'silent' ? transfer : null)
  const place = document.querySelector<HTMLElement>('.wallets')
  if (place?.dataset.transfer !== transfer) return
  for (const button of place.querySelectorAll('button'))
    button.disabled = step === 'opened' || step === 'sent'
  const line = place.querySelector('p') ?? document.createElement('p')
  place.append(line)
  const text = place.dataset[step] ?? ''
  if (line.textContent === text) return
  line.textContent = text
  announce(text)
}

interface Sent {
  readonly payment: string
  readonly hash: string
}

const path = (): string => shownContent()?.dataset.path ?? ''
/** Outlive the page, and are there for other tabs; without storage there is this page alone. */
const opened = () => `beck:opened:${path()}`
const toTell = () => `beck:sent:${path()}`

function keepSent(sent: Sent): void {
  remember('localStorage', toTell(), JSON.stringify(sent))
  tellSent(sent)
}

/** Until the server has it. */
async function tellSent(
  sent = JSON.parse(recall('localStorage', toTell()) ?? 'null') as Sent | null,
): Promise<void> {
  if (!sent) return
  try {
    const { payment, hash } = sent
    const body = new URLSearchParams({ payment, hash })
    const answer = await fetch(`${path()}/sent`, { method: 'POST', body, keepalive: true })
    if (answer.status >= 500 || answer.status === 429) throw new Error(`the page answered ${answer.status}`)
    remember('localStorage', toTell(), null)
  } catch {
    setTimeout(tellSent, TELL_AGAIN_MS, sent)
    return
  }
  refresh()
}
