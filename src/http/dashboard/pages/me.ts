/** One's own sign-in: name, password, second factors, and where one is signed in. */
import { conflict, notFound } from '../../../core/errors.ts'
import { readId, showId } from '../../../core/ids.ts'
import {
  addPasskey,
  beginTotp,
  changePassword,
  confirmTotp,
  endSession,
  type FactorAdded,
  removePasskey,
  removeTotp,
  rename,
  renewRecoveryCodes,
} from '../../../flows/people/factors.ts'
import { canHavePasskeys, newChallenge, passkeyCreation } from '../../../flows/people/passkeys.ts'
import { countRecoveryCodes, listPasskeys } from '../../../users/factors.sql.ts'
import { listSessions, setChallenge } from '../../../users/sessions.sql.ts'
import { readName } from '../../../users/user.ts'
import { html } from '../../hosted/html.ts'
import { drawQr } from '../../hosted/qr.ts'
import { button, card, copyable, field, formProblem, hidden, notice, submit, table } from '../parts.ts'
import {
  type Call,
  type DashboardRow,
  type Move,
  type PersonCall,
  personRow,
  SENT,
  type Sheet,
  type Shown,
} from '../row.ts'
import { time } from '../words.ts'
import { mailRows, paymentMailsCard } from './my-mails.ts'

const FACTOR_NAMES: Readonly<Record<string, string>> = {
  password: 'Password alone',
  totp: 'Code of an app',
  recovery: 'Recovery code',
  passkey: 'Passkey',
  sign_on: 'Single sign-on',
}

/** Codes are shown this once. */
export const recoveryCodesPage = (call: Pick<Call, 'base'>, codes: readonly string[]): Sheet => ({
  title: 'Recovery codes',
  width: 'narrow',
  nav: 'me',
  content: html`<h1>Keep these codes</h1><p class="lead">They let you in when your device is lost, each of them once. They are shown only now: print them, or keep them in your password manager.</p>
<ol class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ol>
<p><button type="button" class="copy" data-copy="${codes.join(' ')}" hidden>Copy all</button></p>
<div class="actions"><a class="button primary" href="${call.base}">I have kept them</a></div>`,
})

async function mePage(call: PersonCall): Promise<Sheet> {
  const { session, gateway, base } = call
  const [passkeys, sessions, codes] = await Promise.all([
    listPasskeys(gateway.db, session.userId),
    listSessions(gateway.db, session.userId),
    countRecoveryCodes(gateway.db, session.userId),
  ])
  const hasFactor = session.hasTotp || passkeys.length > 0
  return {
    title: 'Your sign-in',
    nav: 'me',
    content: html`<header class="head"><h1>Your sign-in</h1></header>${formProblem(call)}
${!hasFactor && notice('wait', html`<p><strong>Add a second factor.</strong> Nothing live opens with a password alone.</p>`)}
<div class="columns">
${card(
  'Passkeys',
  html`${
    passkeys.length > 0
      ? html`<ul class="rows">${passkeys.map((passkey) => html`<li><div><strong>${passkey.name}</strong><span>Added ${time(passkey.createdAt)}${passkey.usedAt && html`, used ${time(passkey.usedAt)}`}</span></div>${button(`${base}/me/passkeys/${showId('psk', passkey.id)}/remove`, 'Remove', { name: `Remove ${passkey.name}` })}</li>`)}</ul>`
      : html`<p>A fingerprint, a face or a security key instead of a password. Nothing to type, and no page but this one can ask for it.</p>`
  }${
    canHavePasskeys(gateway)
      ? html`<p><a class="button ${passkeys.length > 0 ? 'plain' : 'primary'}" href="${base}/me/passkeys">Add a passkey</a></p>`
      : html`<p class="hint">Passkeys need a name and https: set BECK_PUBLIC_URL to an https address, or open this page at localhost.</p>`
  }`,
)}
${card(
  'Authenticator app',
  session.hasTotp
    ? html`<p>Set up. It shows a new code every 30 seconds.</p>${button(`${base}/me/totp/remove`, 'Remove')}`
    : html`<p>A code from an app on your phone, beside the password.</p><p><a class="button ${hasFactor ? 'plain' : 'primary'}" href="${base}/me/totp">Set up</a></p>`,
)}
${hasFactor && card('Recovery codes', html`<p>${codes} of 10 are left. New codes void the old ones.</p>${button(`${base}/me/recovery-codes`, 'New codes')}`)}
${card(
  'Password',
  html`<form method="post" action="${base}/me/password">${hidden('username', session.email)}${field(call, { name: 'password', label: session.hasPassword ? 'New password' : 'Password', type: 'password', autocomplete: 'new-password', required: true, hint: '12 characters or more.' })}${submit('Change the password')}</form>`,
)}
${card(
  'Name',
  html`<form method="post" action="${base}/me/name">${field(call, { name: 'name', label: 'Your name', value: session.name, required: true, autocomplete: 'name', maxlength: 120 })}${submit('Save')}</form>`,
)}${await paymentMailsCard(call)}
</div>
${card(
  'Where you are signed in',
  table(
    'Your sessions',
    [
      {
        label: 'Device',
        cell: (each) =>
          html`${browserOf(each.agent)}${each.id === session.id && html` <span class="badge good">this one</span>`}`,
      },
      { label: 'Address', cell: (each) => html`<code>${each.address}</code>` },
      { label: 'Factor', cell: (each) => FACTOR_NAMES[each.factor] ?? each.factor, isMinor: true },
      { label: 'Since', cell: (each) => time(each.createdAt), isMinor: true },
      { label: 'Last seen', cell: (each) => time(each.seenAt) },
      {
        label: '',
        cell: (each) =>
          each.id !== session.id &&
          button(`${base}/me/sessions/${showId('ses', each.id)}/end`, 'End', {
            name: `End the session on ${browserOf(each.agent)}`,
          }),
      },
    ],
    sessions,
  ),
)}`,
  }
}

/** A device in two words: what people tell their devices apart by. */
function browserOf(agent: string): string {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari|curl)/.exec(agent)?.[1] ?? 'Browser'
  const system = /(Android|iPhone|iPad|Windows|Mac OS X|Linux)/.exec(agent)?.[1] ?? ''
  const name = browser === 'Edg' ? 'Edge' : browser === 'OPR' ? 'Opera' : browser
  return system ? `${name} on ${system.replace('Mac OS X', 'macOS')}` : name
}

const passkeyPage = async (call: PersonCall): Promise<Sheet> => ({
  title: 'Add a passkey',
  width: 'narrow',
  nav: 'me',
  trail: [['Your sign-in', `${call.base}/me`]],
  content: html`<h1>Add a passkey</h1>${formProblem(call)}<p class="lead">Your browser asks for your fingerprint, your face, a security key, or another of your devices.</p>
<form method="post" action="${call.base}/me/passkeys" class="needs-script" data-create-from="${call.base}/me/passkeys/options" data-field="passkey" hidden>${hidden('passkey', '')}${field(call, { name: 'name', label: 'Name', maxlength: 120, hint: 'To tell it from others, such as Laptop.' })}${submit('Add a passkey', 'primary', `${call.base}/me`)}<p class="problem" role="alert" hidden></p></form><noscript>${notice('wait', html`<p>Passkeys need JavaScript. Without it, <a href="${call.base}/me/totp">set up an authenticator app</a>.</p>`)}</noscript>`,
})

async function totpPage(call: PersonCall): Promise<Sheet> {
  const { uri, text } = await beginTotp(call.gateway, call.session)
  return {
    title: 'Authenticator app',
    width: 'narrow',
    nav: 'me',
    trail: [['Your sign-in', `${call.base}/me`]],
    content: html`<h1>Authenticator app</h1>${formProblem(call)}<ol class="steps"><li><p>Scan this with an authenticator app on your phone.</p><div class="qr-box">${drawQr(uri, 'QR code with the secret for your authenticator app')}</div><p class="hint">Cannot scan? Type this in: ${copyable(text, 'Copy the secret')}</p></li><li><form method="post" action="${call.base}/me/totp">${field(call, { name: 'code', label: 'The code it shows now', required: true, autocomplete: 'one-time-code', inputmode: 'numeric', maxlength: 7 })}${submit('Confirm', 'primary', `${call.base}/me`)}</form></li></ol>`,
  }
}

const shownCodes = (call: PersonCall, added: FactorAdded): Shown | Move =>
  added.recoveryCodes
    ? { ...recoveryCodesPage(call, added.recoveryCodes), token: added.token }
    : { to: `${call.base}/me`, done: 'saved', token: added.token }

export const meRows: readonly DashboardRow[] = [
  ...mailRows,
  personRow('person', 'GET /me', { handle: mePage }),
  personRow('person', 'POST /me/name', {
    async handle(call) {
      await rename(call.gateway, call.session, call.person, readName(call.form.get('name')))
      return { to: `${call.base}/me`, done: 'saved' }
    },
    redraw: mePage,
  }),
  personRow('person', 'POST /me/password', {
    confirm: 'recent',
    async handle(call) {
      await changePassword(call.gateway, call.session, call.person, call.form.get('password'))
      return { to: `${call.base}/me`, done: 'password-changed' }
    },
    redraw: mePage,
  }),
  personRow('person', 'GET /me/totp', { confirm: 'recent', handle: totpPage }),
  personRow('person', 'POST /me/totp', {
    async handle(call) {
      // A code of its own is in this form: where the confirmation ran out, it is asked for before the page.
      if (!call.session.isSteppedUp) return { to: `${call.base}/me/totp` }
      return shownCodes(
        call,
        await confirmTotp(call.gateway, call.session, call.person, call.form.get('code')),
      )
    },
    redraw: totpPage,
  }),
  personRow('person', 'POST /me/totp/remove', {
    confirm: 'recent',
    async handle(call) {
      await removeTotp(call.gateway, call.session, call.person)
      return { to: `${call.base}/me`, done: 'factor-removed' }
    },
    redraw: mePage,
  }),
  personRow('person', 'GET /me/passkeys', { confirm: 'recent', handle: passkeyPage }),
  personRow('person', 'POST /me/passkeys/options', {
    confirm: 'recent',
    async handle(call) {
      const challenge = newChallenge()
      await setChallenge(call.gateway.db, call.session.id, challenge)
      call.reply.type('application/json; charset=utf-8')
      call.reply.send(JSON.stringify(await passkeyCreation(call.gateway, call.session, challenge)))
      return SENT
    },
  }),
  personRow('person', 'POST /me/passkeys', {
    async handle(call) {
      // A confirmation would take the challenge's place: where the last one ran out, it is asked for before the page.
      if (!call.session.isSteppedUp) return { to: `${call.base}/me/passkeys` }
      const given = { response: call.form.get('passkey'), name: call.form.get('name') }
      return shownCodes(call, await addPasskey(call.gateway, call.session, call.person, given))
    },
    redraw: passkeyPage,
  }),
  personRow('person', 'POST /me/passkeys/:id/remove', {
    confirm: 'recent',
    async handle(call) {
      const id = readId('psk', call.params.id ?? '')
      if (!id) throw notFound('passkey_not_found', 'you have no such passkey')
      await removePasskey(call.gateway, call.session, call.person, id)
      return { to: `${call.base}/me`, done: 'factor-removed' }
    },
    redraw: mePage,
  }),
  personRow('person', 'POST /me/recovery-codes', {
    confirm: 'recent',
    async handle(call) {
      if (!call.session.hasTotp && !call.session.hasPasskey)
        throw conflict('no_factor', 'recovery codes stand in for a second factor; add one first')
      return recoveryCodesPage(call, await renewRecoveryCodes(call.gateway, call.session, call.person))
    },
    redraw: mePage,
  }),
  personRow('person', 'POST /me/sessions/:id/end', {
    async handle(call) {
      const id = readId('ses', call.params.id ?? '')
      if (id) await endSession(call.gateway, call.person, id)
      return { to: `${call.base}/me`, done: 'session-ended' }
    },
  }),
]
