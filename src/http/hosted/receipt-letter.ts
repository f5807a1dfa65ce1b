/** A receipt in words: what its page shows, in the buyer's language, without a picture or anything to load. */
import { checkoutUrl } from '../../flows/checkout/page-urls.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { letter } from '../../mails/letters.ts'
import type { Letter } from '../../mails/mail.ts'
import { fillText } from './html.ts'
import { showCoin, showTime } from './language.ts'
import type { Making } from './make-view.ts'
import { receiptLead } from './pages/outcome.ts'
import type { ReceiptView } from './view.ts'

export function receiptLetter(
  gateway: Pick<Gateway, 'settings'>,
  { language, page }: Making,
  view: ReceiptView,
): Letter {
  const { words } = language
  const { account, session } = page.checkout
  const merchant = account.brandName ?? account.name
  const refunded = view.refund && `${showCoin(language, view.refund.amount)} ${view.refund.asset}`
  const rows: readonly (readonly [string, string | null])[] = [
    [words.item, view.order.label],
    [words.amount, view.order.price],
    [words.paid, `${showCoin(language, view.received)} ${view.asset}`],
    [words.refunded_amount, refunded],
    [words.network, view.networkName],
    [words.date, showTime(language, view.completedAt)],
    [words.payment_number, view.paymentNumber],
    ...view.transactions.map(({ hash, url }) => [words.transaction, url ?? hash] as const),
  ]
  return letter(
    fillText(words.receipt_from, { merchant }),
    fillText(words[receiptLead(view)], { merchant, amount: refunded ?? '' }),
    // A label is a line, whatever stands in it.
    rows
      .flatMap(([name, value]) => (value === null ? [] : `${name}: ${value.replace(/\p{Cc}+/gu, ' ')}`))
      .join('\n'),
    checkoutUrl(gateway, session.id),
    words.receipt_why,
  )
}
