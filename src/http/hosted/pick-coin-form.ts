/** The form in which the buyer picks a coin: read, refused field by field, or made a payment. */
import type { FastifyReply } from 'fastify'
import { isAsset } from '../../core/assets.ts'
import { isEmail } from '../../core/email.ts'
import { Refusal } from '../../core/errors.ts'
import { pickCoin } from '../../flows/checkout/checkout.ts'
import { backToPage, choose, draw, readTyped, sendOver, type Visit } from './checkout-visit.ts'
import type { Form } from './forms.ts'
import type { Words } from './languages/en.ts'
import { amountView } from './make-view.ts'

export async function takeCoin(visit: Visit): Promise<FastifyReply> {
  const { gateway, request, making, id } = visit
  const { words } = making.language
  const form = request.body as Form
  const { session } = making.page.checkout
  const asset = form.get('asset') ?? ''
  const typedAmount = session.amountMinor === null ? (form.get('amount') ?? '') : ''
  const typedEmail = session.customerEmail === null ? (form.get('email') ?? '') : ''

  const amount = typedAmount === '' ? null : readTyped(visit, typedAmount)
  if (amount && 'problem' in amount) {
    const field = { value: typedAmount, problem: amount.problem }
    return draw(visit, amountView(making, gateway.settings, field), 400)
  }
  const amountMinor = amount?.minor ?? null
  const again = async (status: number, problem: string | null, emailProblem: string | null = null) => {
    const selected = isAsset(asset) ? asset : null
    const email = { value: typedEmail, problem: emailProblem }
    return draw(visit, await choose(visit, { amountMinor, selected, problem, email }), status)
  }
  const isEmailGood = typedEmail === '' || isEmail(typedEmail)
  if (!isAsset(asset))
    return again(400, words.error_coin_required, isEmailGood ? null : words.error_email_invalid)
  if (!isEmailGood) return again(400, null, words.error_email_invalid)

  await visit.limits.countPayment(request.ip, session)
  try {
    const choice = { asset, amountMinor, email: typedEmail === '' ? null : typedEmail }
    await gateway.db.transaction((tx) => pickCoin(gateway, tx, id, choice))
  } catch (error) {
    const meaning = meaningOf(error)
    if (meaning === null) throw error
    if (meaning === 'page') return backToPage(visit)
    if (meaning === 'link_disabled' || meaning === 'closed') return sendOver(visit, meaning)
    return again(meaning === 'error_coin_unavailable' ? 503 : 400, words[meaning])
  }
  gateway.wake('deliver')
  return backToPage(visit)
}

/** What a refusal means to the buyer: that the page shows another state by now, a sentence, or nothing of his. */
export function meaningOf(error: unknown): 'page' | 'link_disabled' | 'closed' | keyof Words | null {
  if (!(error instanceof Refusal)) return null
  if (error.kind === 'unavailable') return 'error_coin_unavailable'
  switch (error.reason) {
    case 'session_ended':
    case 'payment_in_progress':
      return 'page'
    case 'payment_link_disabled':
      return 'link_disabled'
    case 'account_closed':
      return 'closed'
    case 'amount_required':
      return 'error_amount_required'
    default:
      return null
  }
}
