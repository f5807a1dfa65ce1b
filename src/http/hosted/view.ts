/**
 * What each page is drawn from: one type per state, everything already in the buyer's language and nothing that he
 * should not see. `make-view.ts` makes them, `pages/` draws them.
 */
import type { Asset } from '../../core/assets.ts'
import type { Accent } from './colour.ts'
import type { Html } from './html.ts'
import type { Language } from './language.ts'
import type { Words } from './languages/en.ts'
import type { WalletLink } from './networks.ts'
import type { WalletTransfer } from './wallet.ts'

/** What every page has around its content. */
export interface Frame {
  readonly language: Language
  /** Null on pages that belong to no merchant, such as the one for an unknown session. */
  readonly merchant: Merchant | null
  readonly isTest: boolean
  /** An open page asks for it, and has a style already. */
  readonly isPart: boolean
  /** Of the public URL. */
  readonly origin: string
  /** What stands before every path of ours, where the public URL has one: empty, or `/beck`. */
  readonly base: string
  /** `/checkout/cs_…` with the base: forms post below it; null on pages without a session. */
  readonly path: string | null
  /** `?lang=de` when the buyer chose a language, else empty: goes behind every link and form of the page. */
  readonly query: string
  /** The page's own path, for links that change the language. */
  readonly here: string
  /** What those links keep of its query: empty, or `amount=25&`. */
  readonly carried: string
  /** Marks this answer's own scripts and styles for the Content-Security-Policy. */
  readonly nonce: string
}

export interface Merchant {
  readonly name: string
  /** A path of ours, with the base. */
  readonly logo: string | null
  readonly accent: Accent
  /** Where buyers ask, and what they agree to: `mailto:` or http(s). */
  readonly links: readonly { readonly text: 'contact' | 'terms' | 'privacy'; readonly url: string }[]
  /** Origins that may frame the page and hear of its completion. */
  readonly frameOrigins: readonly string[]
}

/** What the buyer pays for; either may be missing. */
export interface Order {
  readonly label: string | null
  /** Fiat, as the language writes it. */
  readonly price: string | null
}

/** A field as it was typed, and what was wrong with it. */
export interface Field {
  readonly value: string
  readonly problem: string | null
}

/** What every page of a checkout has. */
interface Ordered<State extends string> {
  readonly state: State
  readonly order: Order
}

/** The session has no price of its own: the buyer is asked. */
export interface AmountView extends Ordered<'amount'> {
  readonly currency: string
  readonly amount: Field
  /** Fiat, as the language writes it. */
  readonly min: string
  readonly max: string
}

export interface CoinOption {
  readonly asset: Asset
  /** Of the coin: Bitcoin, USD Coin. */
  readonly name: string
  /** `Ethereum mainnet`, `Ethereum (ERC-20) mainnet`. */
  readonly networkName: string
  /** What would be due now, as a decimal; null when the coin cannot be taken now. */
  readonly amount: string | null
}

export interface ChooseView extends Ordered<'choose'> {
  readonly coins: readonly CoinOption[]
  /** What stands in the way of the coin that was chosen. */
  readonly problem: string | null
  readonly selected: Asset | null
  /** What was typed on the amount's page, to be sent along; null when the session has a price. */
  readonly amount: string | null
  /** The amount as it can be typed anew; null when the session has a price. */
  readonly changeAmount: string | null
  /** Null when nothing is asked. */
  readonly email: Field | null
  /** The merchant's, with most of it hidden, when he gave one. */
  readonly knownEmail: string | null
  /** The coin that is quoted already, while the buyer looks at others. */
  readonly current: Asset | null
}

/** Where coins go. */
export interface Target {
  readonly asset: Asset
  readonly coinName: string
  readonly networkName: string
  /** The same without a token's standard, as wallets list it: `Ethereum mainnet`. */
  readonly chainName: string
  readonly address: string
  /** Decimal to send now, digit for digit as a wallet takes it. */
  readonly amount: string
  readonly qr: Html
  /** A code of the address alone, for wallets that read the other one wrong; null where none does. */
  readonly plainQr: Html | null
  /** Whether the code holds coin and amount, and not the address alone. */
  readonly hasAmount: boolean
  /** Opens a wallet with address and amount; null where none knows the network. */
  readonly walletLink: string | null
  /** Into the apps of common wallets. */
  readonly appLinks: readonly WalletLink[]
  /** `1 BTC = $65,000.00`. */
  readonly rate: string
  /** A token: only this coin on this network. */
  readonly isToken: boolean
  /** The transfer that a browser's wallet is asked for; null where none can make it. */
  readonly transfer: WalletTransfer | null
  readonly paymentNumber: string
}

/** A window that closes: instants of the server's clock, in milliseconds. */
export interface Countdown {
  readonly nowMs: number
  readonly endsMs: number
}

export interface WaitingView extends Ordered<'waiting'> {
  readonly search: TransactionSearch
  /** Of all confirmations; null where nobody can say. */
  readonly usualMinutes: number | null
  /** What was seen before was replaced by another transaction. */
  readonly isWithdrawn: boolean
  readonly target: Target
  readonly countdown: Countdown
}

export interface Transaction {
  readonly hash: string
  /** In an explorer; null where nobody can look. */
  readonly url: string | null
}

/** Of a payment that is on its way or has arrived, in part or whole. */
interface Facts<State extends string> extends Ordered<State> {
  readonly asset: Asset
  readonly networkName: string
  /** Decimals. */
  readonly needed: string
  readonly received: string
  readonly transactions: readonly Transaction[]
}

/** The buyer's wallet sent it; the network has not shown it yet. */
export interface SentView extends Facts<'sent'> {
  readonly search: TransactionSearch
}

/** Too little came, and the rest may still come. */
export interface LowerView extends Facts<'lower'> {
  readonly search: TransactionSearch
  /** Of what is still missing. */
  readonly target: Target
  readonly countdown: Countdown
}

export interface ProgressView extends Facts<'seen' | 'confirming'> {
  readonly confirmations: number
  readonly requiredConfirmations: number
  /** Of those still missing; null where nobody can say. */
  readonly usualMinutes: number | null
}

/** Where the buyer wants back what is held: what he gave, or what he typed. */
export interface RefundAddress {
  readonly given: string | null
  readonly field: Field
}

export interface ReceiptView extends Facts<'paid' | 'higher'> {
  /** Above what was needed; null when it is nothing. */
  readonly excess: string | null
  /** Below it, where that was too little to ask for; null when it is nothing, or what the merchant accepted. */
  readonly lacking: string | null
  readonly paymentNumber: string
  readonly completedAt: Date
  /** By mail, to an address of which only the beginning is shown; null where none can be asked for. */
  readonly mail: { readonly to: string; readonly isQueued: boolean } | null
  /** Null when nothing is held, and once a refund is on its way. */
  readonly refundAddress: RefundAddress | null
  /** Of what was too much. */
  readonly refund: Refund | null
  /** Where the buyer goes on to; http(s) only. */
  readonly returnUrl: string | null
}

/** What goes back to the buyer, less the fee of the network. */
export interface Refund {
  readonly asset: Asset
  readonly amount: string
  readonly address: string
  /** Null until it is sent. */
  readonly transaction: Transaction | null
}

/** Something came that did not pay: people settle what becomes of it, or have sent it back. */
export interface HeldView extends Facts<'lower_over' | 'late' | 'refunded'> {
  /** Whether all that came has its confirmations: before that nothing of it is safe. */
  readonly isConfirmed: boolean
  /** Null while nothing of it is safe, and once a refund is on its way. */
  readonly refundAddress: RefundAddress | null
  readonly refund: Refund | null
  readonly paymentNumber: string
  readonly returnUrl: string | null
}

/** The window is over; the chain is looked at once more. */
export interface EndingView extends Ordered<'ending'> {
  readonly search: TransactionSearch
}

/** Nothing came in time, or what came was withdrawn: a new price is one click away. */
export interface ExpiredView extends Ordered<'expired' | 'replaced'> {
  readonly asset: Asset
  readonly search: TransactionSearch
  readonly returnUrl: string | null
}

/** Nothing can be paid here any more. */
export interface EndedView extends Ordered<'cancelled' | 'ended'> {
  /** Given up, and not over: the buyer may think again. */
  readonly canReopen: boolean
  /** Null when no address was ever shown. */
  readonly search: TransactionSearch | null
  readonly returnUrl: string | null
}

/** Whether the buyer really gives up. */
export type CancellingView = Ordered<'cancelling'>

/** "I already paid": what was typed, and what became of it. */
export interface TransactionSearch {
  /** The buyer asked for it: where coins are still awaited, a link leads there. */
  readonly isAsked: boolean
  readonly typed: string
  /** A sentence; null before anything was looked up. */
  readonly answer: string | null
  /** The answer is that nothing was found. */
  readonly isProblem: boolean
}

export type CheckoutView =
  | AmountView
  | ChooseView
  | WaitingView
  | SentView
  | LowerView
  | ProgressView
  | ReceiptView
  | HeldView
  | EndingView
  | ExpiredView
  | EndedView
  | CancellingView

export interface EarlierPayment {
  readonly paymentNumber: string
  readonly asset: Asset
  /** Decimal. */
  readonly received: string
}

/** A checkout's page: the view, and what lies across every state. */
export interface CheckoutContent {
  readonly view: CheckoutView
  /** Of the moment it shows: the open page waits for another one. Null when nothing can change any more. */
  readonly version: string | null
  /** What came for a price that the buyer had left. */
  readonly earlier: readonly EarlierPayment[]
  /** The network's name while its node cannot be seen. */
  readonly blindNetwork: string | null
  /** Whether the buyer may give up. */
  readonly canCancel: boolean
}

/** A page that only says something. */
export interface NoticeView {
  /** Begins the names of its words. */
  readonly about:
    | 'unknown'
    | 'link_disabled'
    | 'pos_revoked'
    | 'closed'
    | 'unavailable'
    | 'too_many'
    | 'refused'
    | 'framed'
  /** What came to a checkout that ends here. */
  readonly earlier?: readonly EarlierPayment[]
  /** A way on. */
  readonly link?: { readonly text: keyof Words; readonly path: string; readonly isNewWindow?: boolean } | null
}
