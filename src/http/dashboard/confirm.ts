/** "Is it you?": asked before what matters, with what will happen in words, and the form's fields carried along. */
import type { Refusal } from '../../core/errors.ts'
import { canHavePasskeys, newChallenge, passkeyRequest } from '../../flows/people/passkeys.ts'
import type { Session } from '../../users/sessions.sql.ts'
import { setChallenge } from '../../users/sessions.sql.ts'
import { type Html, html } from '../hosted/html.ts'
import { hidden, notice, sentence } from './parts.ts'
import type { Call, Consequence, PersonCall, Sheet } from './row.ts'
import { SHOWN_FIELD, writeFigures } from './shown-figures.ts'

/** Fields of the confirmation itself: never carried along. */
export const CONFIRMATION_FIELDS = ['challenge', 'code', 'assertion'] as const
/** Where the form stands, for whoever then does nothing. */
export const BACK_FIELD = 'back'

/** The page that asks. A new challenge takes the place of the one before, so that no page is used twice. */
export async function confirmPage(
  call: PersonCall,
  consequence: Consequence | undefined,
  problem: Refusal | null,
  isFresh: boolean,
  back: string,
): Promise<Sheet> {
  const challenge = newChallenge()
  await setChallenge(call.gateway.db, call.session.id, challenge)
  const own: readonly string[] = [...CONFIRMATION_FIELDS, SHOWN_FIELD, BACK_FIELD]
  const shown = consequence?.figures && ([SHOWN_FIELD, writeFigures(consequence.figures)] as const)
  const carried = [
    ...call.form.entries.filter(([name]) => !own.includes(name)),
    ...(shown ? [shown] : []),
    [BACK_FIELD, back] as const,
  ]
  const action = call.request.url
  const { session } = call
  // A provider's word is good for minutes, and this is asked each time.
  const needsOwn = isFresh && !session.hasPasskey && !session.hasTotp && !session.hasPassword
  return {
    title: 'Confirm',
    width: 'narrow',
    content: html`<h1>${consequence ? 'Check and confirm' : 'Confirm that it is you'}</h1>
${problem && notice('bad', html`<p>${sentence(problem.message)}</p>`)}
${consequence?.words ?? html`<p class="lead">This page changes who or what can get at money, so it asks again.</p>`}
${
  needsOwn
    ? notice(
        'wait',
        html`<p>This is confirmed each time, with a passkey or an app of your own. <a href="${call.base}/me">Add one</a>, then come back.</p>`,
      )
    : await proofForms(
        call,
        session,
        challenge,
        action,
        carried,
        consequence ? 'Confirm' : 'Continue',
        isFresh,
      )
}
<p><a href="${back}">Do nothing</a></p>`,
  }
}

/** What he proved himself with, as one of {@link proofForms} sent it. */
export const proofOf = ({ form }: Call) => ({
  challenge: form.get('challenge'),
  code: form.get('code'),
  assertion: form.get('assertion'),
})

/** What the person has to prove himself with: a passkey by one button, a code or the password by a field. */
export async function proofForms(
  call: Pick<PersonCall, 'gateway' | 'installation' | 'base' | 'request'>,
  session: Session,
  challenge: Buffer,
  action: string,
  carried: readonly (readonly [string, string])[],
  label: string,
  isFresh = false,
): Promise<Html> {
  const fields = html`${hidden('challenge', challenge.toString('base64url'))}${carried.map(([name, value]) => hidden(name, value))}`
  const hasPasskey = session.hasPasskey && canHavePasskeys(call.gateway)
  const passkey =
    hasPasskey &&
    html`<form method="post" action="${action}" class="passkey" data-passkey="${JSON.stringify(await passkeyRequest(call.gateway, session.userId, challenge))}" data-field="assertion">${fields}${hidden('assertion', '')}<button type="submit" class="primary">${label} with a passkey</button><noscript><p class="hint">Passkeys need JavaScript in this browser; use a code instead.</p></noscript><p class="problem" role="alert" hidden></p></form>`
  const [name, hint, isPassword] = session.hasTotp
    ? (['Code from your authenticator app', 'Or one of your recovery codes.', false] as const)
    : session.hasPasskey
      ? (['Recovery code', 'One of those you wrote down.', false] as const)
      : (['Your password', null, true] as const)
  const code = html`<form method="post" action="${action}">${fields}<div class="field"><label for="code">${name}</label><input id="code" name="code" type="${isPassword ? 'password' : 'text'}" required autocomplete="${isPassword ? 'current-password' : 'one-time-code'}" autocapitalize="none" spellcheck="false"${!hasPasskey && html` autofocus`}>${hint && html`<p class="hint">${hint}</p>`}</div><div class="actions"><button type="submit" class="${hasPasskey ? 'plain' : 'primary'}">${label}</button></div></form>`
  // One who comes in by his provider alone confirms there, and is back on the page he was on.
  const { singleSignOn } = call.installation
  const isByProvider =
    singleSignOn && !isFresh && !session.hasTotp && !session.hasPasskey && session.factor !== 'half'
  if (isByProvider) {
    const next =
      carried.find(([field]) => field === 'next')?.[1] ??
      URL.parse(call.request.headers.referer ?? '')?.pathname
    const provider = html`<p><a class="button ${session.hasPassword ? 'plain' : 'primary'}" href="${call.base}/step-up/sso${next && `?next=${encodeURIComponent(next)}`}">Confirm with ${singleSignOn.name}</a></p>`
    return html`${session.hasPassword && code}${provider}`
  }
  return html`${passkey}${hasPasskey ? html`<details class="other"><summary>${session.hasTotp ? 'Use a code instead' : 'Use a recovery code'}</summary>${code}</details>` : code}`
}
