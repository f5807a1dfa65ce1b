/** Coming in and going out. */
import { canHavePasskeys, newChallenge, passkeyRequest } from '../../../flows/people/passkeys.ts'
import { proveAgain, signInWithPasskey, signInWithPassword, signOut } from '../../../flows/people/sign-in.ts'
import { askForReset } from '../../../flows/people/sign-in-mails.ts'
import { setChallenge } from '../../../users/sessions.sql.ts'
import { newSignInChallenge } from '../../../users/sign-in-challenge.sql.ts'
import { html } from '../../hosted/html.ts'
import { proofForms, proofOf } from '../confirm.ts'
import { nextPath, origin, signedInMove } from '../next-path.ts'
import { field, formProblem, hidden } from '../parts.ts'
import {
  type Call,
  type DashboardRow,
  type PersonCall,
  personRow,
  publicRow,
  SENT,
  type Sheet,
} from '../row.ts'
import { readSession } from '../session.ts'

const carriedNext = (call: Call) => call.form.get('next') || call.query.next || ''

const signInPage = async (call: Call): Promise<Sheet> => ({
  title: 'Sign in',
  width: 'narrow',
  content: html`<p class="mark">Beck</p><h1>Sign in</h1>${formProblem(call)}
${
  canHavePasskeys(call.gateway) &&
  html`<form method="post" action="${call.base}/sign-in/passkey" class="passkey needs-script" data-passkey-from="${call.base}/sign-in/options" data-field="assertion" hidden>${hidden('assertion', '')}${hidden('next', carriedNext(call))}<button type="submit" class="primary wide">Sign in with a passkey</button><p class="problem" role="alert" hidden></p></form><p class="or needs-script" hidden><span>or</span></p>`
}
${call.installation.singleSignOn && html`<p><a class="button wide" href="${call.base}/sign-in/sso${carriedNext(call) && `?next=${encodeURIComponent(carriedNext(call))}`}">Sign in with ${call.installation.singleSignOn.name}</a></p><p class="or"><span>or</span></p>`}
<form method="post" action="${call.base}/sign-in">${hidden('next', carriedNext(call))}
${field(call, { name: 'email', label: 'Email', type: 'email', required: true, autocomplete: 'username webauthn', value: call.form.get('email'), isFocused: true })}
${field(call, { name: 'password', label: 'Password', type: 'password', required: true, autocomplete: 'current-password' })}
<div class="actions"><button type="submit" class="primary wide">Continue</button></div></form>
<p class="hint">${call.gateway.settings.sendsMail ? html`<a href="${call.base}/forgotten">Lost your password?</a>` : `Lost your password? ${NO_MAIL}`}</p>`,
})

const forgottenPage = async (call: Call): Promise<Sheet> => ({
  title: 'A new password',
  width: 'narrow',
  content: html`<p class="mark">Beck</p><h1>A new password</h1>${formProblem(call)}${call.gateway.settings.sendsMail ? resetForm(call) : html`<p class="lead">${NO_MAIL}</p>`}<p><a href="${call.base}/sign-in">Back to the sign-in</a></p>`,
})

const resetForm = (call: Call) =>
  html`<p class="lead">A link comes to you by mail. Your passkeys and authenticator app stay as they are.</p><form method="post" action="${call.base}/forgotten">${field(call, { name: 'email', label: 'Email', type: 'email', required: true, autocomplete: 'username', isFocused: true })}<div class="actions"><button type="submit" class="primary wide">Send the link</button></div></form>`

/** Where Beck sends none. */
const NO_MAIL = 'An owner or admin of your team can make you a new link.'

const forgottenRows: readonly DashboardRow[] = [
  publicRow('GET /forgotten', { handle: forgottenPage }),
  publicRow('POST /forgotten', {
    async handle(call) {
      await askForReset(call.gateway, call.form.get('email'), origin(call))
      return { to: `${call.base}/sign-in`, done: 'reset-asked' }
    },
    redraw: forgottenPage,
  }),
]

const signInRows: readonly DashboardRow[] = [
  publicRow('GET /sign-in', { handle: signInPage }),
  publicRow('POST /sign-in', {
    async handle(call) {
      const given = { email: call.form.get('email'), password: call.form.get('password') }
      return signedInMove(call, await signInWithPassword(call.gateway, given, origin(call)), nextPath(call))
    },
    redraw: signInPage,
  }),
  publicRow('POST /sign-in/options', {
    async handle(call) {
      const challenge = newSignInChallenge(call.gateway.secrets)
      call.reply.type('application/json; charset=utf-8')
      call.reply.send(JSON.stringify(await passkeyRequest(call.gateway, null, challenge)))
      return SENT
    },
  }),
  publicRow('POST /sign-in/passkey', {
    async handle(call) {
      const { token } = await signInWithPasskey(call.gateway, call.form.get('assertion'), origin(call))
      return { to: nextPath(call), token }
    },
    redraw: signInPage,
  }),
  personRow('half', 'GET /sign-in/factor', {
    async handle(call) {
      if (call.session.factor !== 'half') return { to: nextPath(call) }
      return factorPage(call)
    },
  }),
  personRow('half', 'POST /sign-in/factor', {
    async handle(call) {
      if (call.session.factor !== 'half') return { to: nextPath(call) }
      const { token } = await proveAgain(call.gateway, call.session, proofOf(call), origin(call))
      return { to: nextPath(call), token }
    },
    redraw: (call) => factorPage(call),
  }),
  publicRow('POST /sign-out', {
    async handle(call) {
      const session = await readSession(call)
      if (session) await signOut(call.gateway, session, call.request.ip)
      return { to: `${call.base}/sign-in`, done: 'signed-out', token: null }
    },
  }),
]

const stepUpRows: readonly DashboardRow[] = [
  personRow('person', 'GET /step-up', { handle: (call) => stepUpPage(call) }),
  personRow('person', 'POST /step-up', {
    async handle(call) {
      const { token } = await proveAgain(call.gateway, call.session, proofOf(call), origin(call))
      return { to: nextPath(call), token }
    },
    redraw: (call) => stepUpPage(call),
  }),
]

async function stepUpPage(call: PersonCall): Promise<Sheet> {
  const challenge = newChallenge()
  await setChallenge(call.gateway.db, call.session.id, challenge)
  return {
    title: 'Confirm that it is you',
    width: 'narrow',
    content: html`<h1>Confirm that it is you</h1>${formProblem(call)}<p class="lead">What comes next changes who or what can get at money, so it is asked again.</p>${await proofForms(call, call.session, challenge, `${call.base}/step-up`, [['next', carriedNext(call)]], 'Continue')}`,
  }
}

async function factorPage(call: PersonCall): Promise<Sheet> {
  const challenge = newChallenge()
  await setChallenge(call.gateway.db, call.session.id, challenge)
  const carried = [['next', carriedNext(call)]] as const
  return {
    title: 'Second factor',
    width: 'narrow',
    content: html`<p class="mark">Beck</p><h1>One more step</h1><p class="lead">${call.session.email}</p>${formProblem(call)}${await proofForms(call, call.session, challenge, `${call.base}/sign-in/factor`, carried, 'Sign in')}<p><a href="${call.base}/sign-in">Start again</a></p>`,
  }
}

export const doorRows: readonly DashboardRow[] = [...signInRows, ...forgottenRows, ...stepUpRows]
