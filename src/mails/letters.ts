/** The words of every mail. */
import type { Letter } from './mail.ts'

/** A mail of these paragraphs; null for one that is left out. */
export const letter = (subject: string, ...paragraphs: (string | null)[]): Letter => ({
  // A name of somebody's choosing stands in some subjects; a line has no second one.
  subject: subject.replace(/\p{Cc}+/gu, ' '),
  text: `${paragraphs.filter((each) => each !== null).join('\n\n')}\n`,
})

export interface InvitationWords {
  readonly link: string
  readonly hours: number
  /** Null for an invitation to run the whole Beck. */
  readonly merchant: string | null
  readonly role: string | null
  /** An email; null when it was made on the command line. */
  readonly by: string | null
}

export const invitationLetter = ({ link, hours, merchant, role, by }: InvitationWords): Letter =>
  letter(
    `You are invited to ${merchant ?? 'run Beck'}`,
    `${by ?? 'The operator'} invites you to ${merchant === null ? 'run this Beck as its operator' : `${merchant}${role === null ? '' : `, as ${role}`}`}.`,
    `Open this link to come in. It is good once, for ${hours} hours:`,
    link,
    'If you expected no invitation, do nothing: without the link nobody comes in.',
  )

export const resetLetter = (link: string, hours: number): Letter =>
  letter(
    'A new password for Beck',
    `This link sets a new password. It is good once, for ${hours} hours:`,
    link,
    'The link changes no passkey and no authenticator app. If you did not ask for it, do nothing: without the link nothing changes.',
  )

export const lockoutLetter = (address: string): Letter =>
  letter(
    'Your sign-in to Beck waits',
    `Somebody at ${address} gave too many wrong passwords for your sign-in. Passwords are not looked at for a quarter of an hour; a passkey works at any time.`,
    'If that was you, wait, or ask for a link to set a new password. If it was not, nobody got in; a passkey cannot be guessed.',
  )

const minuteOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' at ')} UTC`

export interface NoticeWords {
  /** What happened, a sentence. */
  readonly what: string
  readonly merchant: string | null
  /** Who did it: an email, a key's name, the command line. */
  readonly who: string
  readonly address: string | null
  readonly at: Date
  /** Where to see more and undo it. */
  readonly page: string
}

export const noticeLetter = ({ what, merchant, who, address, at, page }: NoticeWords): Letter =>
  letter(
    merchant === null ? what : `${merchant}: ${what.charAt(0).toLowerCase()}${what.slice(1)}`,
    `${what}${merchant === null ? '' : ` at ${merchant}`}.`,
    `By ${who}${address === null ? '' : `, from ${address}`}, on ${minuteOf(at)}.`,
    page,
    'If you do not know of this, open the page, undo it, and look at who can sign in.',
  )

export interface EndpointOffWords {
  readonly merchant: string | null
  readonly url: string
  /** So long it did not succeed once, such as `five days`; null when it asked for that. */
  readonly failedFor: string | null
  readonly at: Date
  readonly page: string
}

/** Nobody did this: it says what the shop misses, and nothing of sign-ins. */
export const endpointOffLetter = ({ merchant, url, failedFor, at, page }: EndpointOffWords): Letter =>
  letter(
    `${merchant === null ? '' : `${merchant}: `}${merchant === null ? 'A' : 'a'} webhook endpoint was switched off`,
    `Beck switched ${url} off on ${minuteOf(at)}: ${failedFor === null ? 'it answered 410, which asks for that' : `no delivery to it succeeded in ${failedFor}`}.`,
    'It hears of no event any more. See to it, then switch it on again, and send what it missed, here:',
    page,
  )

export interface ApprovalWords {
  readonly merchant: string
  /** What is asked for, a sentence in the words of the page. */
  readonly what: string
  readonly requestedBy: string
  readonly until: Date
  readonly page: string
}

export const approvalLetter = ({ merchant, what, requestedBy, until, page }: ApprovalWords): Letter =>
  letter(
    `${merchant}: your approval is asked for`,
    `${what}`,
    `Asked for by ${requestedBy}. It can be approved until ${minuteOf(until)}; then it is over, and its amount is available again.`,
    `Look at it, and approve it with your passkey or decline it, here:`,
    page,
    'This mail approves nothing, and nobody is approved by answering it.',
  )

export const changeLetter = (merchant: string, what: string, page: string): Letter =>
  letter(
    `${merchant}: what guards your money was changed`,
    what,
    'It was approved with passkeys, and the signer has taken it.',
    page,
    'If you do not know of this, call those who approved it, and your operator, now.',
  )

export interface PinWords {
  readonly merchant: string
  readonly name: string
  readonly fingerprint: string
  readonly countsFrom: Date
  readonly isRemoved: boolean
  readonly page: string
}

export const pinLetter = ({ merchant, name, fingerprint, countsFrom, isRemoved, page }: PinWords): Letter =>
  letter(
    `${merchant}: ${isRemoved ? 'an approver was removed' : 'an approver was added'}`,
    isRemoved
      ? `A passkey of ${name} was removed at the signer. It approves nothing any more.`
      : `A passkey of ${name} was pinned at the signer. It approves payouts from ${minuteOf(countsFrom)} on.`,
    `Its fingerprint is ${fingerprint}.`,
    page,
    'If you do not know of this, call your operator now: until a new passkey counts, he can remove it.',
  )

export interface PaymentWords {
  readonly merchant: string
  readonly what: 'paid' | 'too_little' | 'beyond' | 'other_coin' | 'late'
  /** `49.99 USD`, and what was asked for it: `0.624875 LTC`. */
  readonly price: string
  readonly asked: string
  /** `0.5 ETH and 1 LTC`; empty for nothing. */
  readonly held: string
  /** The merchant's own. */
  readonly reference: string | null
  readonly page: string
  /** Where these mails are switched off. */
  readonly own: string
  /** No more are sent to him within this hour. */
  readonly isLast: boolean
}

const PAYMENT_EVENTS: Readonly<Record<PaymentWords['what'], string>> = {
  paid: 'is paid',
  too_little: 'got less than was asked',
  beyond: 'is paid, and funds came beyond it',
  other_coin: 'got another coin than was asked',
  late: 'got funds when it did not wait for them any more',
}

const paymentSubject = ({ what, price }: PaymentWords): string => {
  if (what === 'paid') return `${price} paid`
  // The price itself is settled.
  if (what === 'beyond') return `what came beyond a payment of ${price} waits for a decision`
  return `a payment of ${price} waits for a decision`
}

export const paymentLetter = (words: PaymentWords): Letter => {
  const { merchant, what, price, asked, held, reference, page, own, isLast } = words
  return letter(
    `${merchant}: ${paymentSubject(words)}`,
    `A payment of ${price}, for which ${asked} was asked, ${PAYMENT_EVENTS[what]}.${held && ` Held until somebody credits it or sends it back: ${held}.`}`,
    reference && `Your reference: ${reference.replace(/\p{Cc}+/gu, ' ')}`,
    page,
    isLast
      ? 'That was the last of these mails for this hour; look at the list of payments for others.'
      : null,
    `Which of these mails you get is set on the page of your sign-in: ${own}`,
  )
}

export interface AlertWords {
  readonly kind: string
  readonly message: string
}

const ALERTS_LISTED_MAX = 20

export const alertLetter = (alerts: readonly AlertWords[], page: string): Letter =>
  letter(
    alerts.length === 1 ? `Beck alert: ${alerts[0]?.kind}` : `Beck: ${alerts.length} alerts`,
    ...alerts.slice(0, ALERTS_LISTED_MAX).map(({ kind, message }) => `${kind}: ${message}`),
    alerts.length > ALERTS_LISTED_MAX ? `And ${alerts.length - ALERTS_LISTED_MAX} more.` : null,
    `Acknowledge them at ${page}`,
  )

/** What people are told of, and how it is said. What is not here is told nobody by mail. */
export const NOTICES: Readonly<Record<string, string>> = {
  'password.change': 'Your password was changed',
  'password.reset': 'Your password was set anew with a link',
  'totp.add': 'An authenticator app was added',
  'totp.remove': 'An authenticator app was removed',
  'passkey.add': 'A passkey was added',
  'passkey.remove': 'A passkey was removed',
  'recovery_codes.renew': 'New recovery codes were made',
  'factors.reset': 'Your passkeys, authenticator app, recovery codes and password were taken away',
  'sign_on.tie': 'Your sign-in was tied to your single sign-on',
  'member.invite': 'Somebody was invited to the team',
  'member.change': 'A role in the team was changed',
  'member.remove': 'Somebody was removed from the team',
  'member.reset': 'A link for a member’s new password was made',
  'user.join': 'Somebody joined',
  'merchant.go_live': 'A live account was opened',
  'merchant.change': 'The business settings, such as how much support refunds, were changed',
  'key.create': 'An API key was made',
  'key.roll': 'An API key was replaced by a new one',
  'key.change': 'An API key was changed',
  'key.revoke': 'An API key was revoked',
  'webhook.create': 'A webhook endpoint was added',
  'webhook.disable': 'A webhook endpoint was switched off',
  'webhook.enable': 'A webhook endpoint was switched on again',
  'webhook.rotate': 'The secret of a webhook endpoint was replaced',
  'webhook.delete': 'A webhook endpoint was removed',
  'account.change': 'The settings were changed',
  'account.close': 'The account was closed: it takes no new payments',
  'account.reopen': 'The account was opened again',
  'policy.propose': 'Another policy of approvals was asked for',
  'allowlist.propose': 'A change of the allowlist was asked for',
}

/** Of a person himself: told to him, and to the owners of his teams. */
export const isOfPerson = (action: string): boolean =>
  /^(password|totp|passkey|recovery_codes|factors|sign_on)\./.test(action)

/** Told of test accounts too: the same people may do the same on the live one. */
export const isOfTeam = (action: string): boolean => /^(member|user|merchant)\./.test(action)
