/** The page that a link leads to: the first person, somebody invited, a new password. */
import { acceptKnown, join, readInvitation, resetTakesPassword } from '../../../flows/people/join.ts'
import { canHavePasskeys, passkeyCreation } from '../../../flows/people/passkeys.ts'
import { newSignInChallenge } from '../../../users/sign-in-challenge.sql.ts'
import { html } from '../../hosted/html.ts'
import { origin } from '../next-path.ts'
import { field, formProblem, hidden } from '../parts.ts'
import { type Call, type DashboardRow, publicRow, SENT, type Sheet } from '../row.ts'
import { readSession } from '../session.ts'
import { recoveryCodesPage } from './me.ts'

const token = (call: Call) => call.params.token ?? ''

async function joinPage(call: Call): Promise<Sheet> {
  const invitation = await readInvitation(call.gateway.db, token(call))
  const action = `${call.base}/join/${token(call)}`
  const isReset = invitation.kind === 'reset'
  if (invitation.known && !isReset) {
    return {
      title: 'Join',
      width: 'narrow',
      content: html`<p class="mark">Beck</p><h1>Join ${invitation.merchantName ?? 'Beck'}</h1>${formProblem(call)}<p class="lead">${invitation.email} has a sign-in here already. Take up the invitation with it${invitation.role && html`, as ${invitation.role}`}.</p><form method="post" action="${action}"><div class="actions"><button type="submit" class="primary wide">Join</button></div></form>`,
    }
  }
  const isPasskeyOffered = canHavePasskeys(call.gateway) && !isReset
  const title = isReset
    ? 'A new password'
    : invitation.kind === 'first'
      ? 'Welcome to Beck'
      : `Join ${invitation.merchantName ?? 'Beck'}`
  const email = invitation.email ?? invitation.known?.email
  return {
    title,
    width: 'narrow',
    content: html`<p class="mark">Beck</p><h1>${title}</h1>
${invitation.kind === 'first' && html`<p class="lead">You are the first one here. You will run this Beck, and own its first merchant.</p>`}
${invitation.role && html`<p class="lead">You are invited as ${invitation.role}.</p>`}
${formProblem(call)}
<form method="post" action="${action}" id="join">
${!isReset && field(call, { name: 'name', label: 'Your name', required: true, autocomplete: 'name', maxlength: 120, isFocused: true })}
${
  email
    ? html`<p class="fixed"><span>Email</span> <strong>${email}</strong></p>${hidden('email', email)}`
    : field(call, { name: 'email', label: 'Email', type: 'email', required: true, autocomplete: 'username' })
}
${isPasskeyOffered && html`<div class="needs-script" hidden data-create-from="${action}/options" data-field="passkey">${hidden('passkey', '')}<button type="submit" class="primary wide" formnovalidate>Continue with a passkey</button><p class="hint">Your fingerprint, face or a security key. Nothing to remember, and nothing to steal.</p><p class="problem" role="alert" hidden></p></div><p class="or needs-script" hidden><span>or</span></p>`}
${field(call, { name: 'password', label: isReset ? 'New password' : 'Password', type: 'password', required: true, autocomplete: 'new-password', hint: '12 characters or more. A few words are fine.' })}
<div class="actions"><button type="submit" class="${isPasskeyOffered ? 'plain' : 'primary'} wide">${isReset ? 'Set the password' : 'Continue with a password'}</button></div></form>`,
  }
}

export const joinRows: readonly DashboardRow[] = [
  publicRow('GET /join/:token', { handle: joinPage }),
  publicRow('POST /join/:token/options', {
    async handle(call) {
      const { kind } = await readInvitation(call.gateway.db, token(call))
      if (kind === 'reset') throw resetTakesPassword()
      const challenge = newSignInChallenge(call.gateway.secrets)
      const person = {
        userId: null,
        email: call.form.get('email').slice(0, 254) || 'you',
        name: call.form.get('name').slice(0, 120),
      }
      call.reply.type('application/json; charset=utf-8')
      call.reply.send(JSON.stringify(await passkeyCreation(call.gateway, person, challenge)))
      return SENT
    },
  }),
  publicRow('POST /join/:token', {
    async handle(call) {
      const invitation = await readInvitation(call.gateway.db, token(call))
      if (invitation.known && invitation.kind === 'invite') {
        const session = await readSession(call)
        const path = `/dashboard/join/${token(call)}`
        if (!session || session.factor === 'half')
          return { to: `${call.base}/sign-in?next=${encodeURIComponent(path)}` }
        await acceptKnown(
          call.gateway,
          token(call),
          { id: session.userId, email: session.email },
          call.request.ip,
        )
        return { to: call.base, done: 'joined' }
      }
      const joined = await join(
        call.gateway,
        token(call),
        {
          name: call.form.get('name'),
          email: call.form.get('email'),
          password: call.form.get('password'),
          passkey: call.form.get('passkey'),
        },
        origin(call),
      )
      if (joined.factor === 'half') return { to: `${call.base}/sign-in/factor`, token: joined.token }
      if (joined.recoveryCodes)
        return { ...recoveryCodesPage(call, joined.recoveryCodes), token: joined.token }
      return { to: invitation.kind === 'reset' ? call.base : `${call.base}/me`, token: joined.token }
    },
    redraw: joinPage,
  }),
]
