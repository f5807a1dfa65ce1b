/** Acts that matter are done once somebody has shown again that it is he. */
import type { FastifyReply } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import { proveAgain } from '../../flows/people/sign-in.ts'
import { answer, redraw, sendSheet } from './answer.ts'
import { BACK_FIELD, CONFIRMATION_FIELDS, confirmPage, proofOf } from './confirm.ts'
import { writeCookie } from './cookie.ts'
import type { Frame } from './layout.ts'
import { origin } from './next-path.ts'
import { rootOf } from './root.ts'
import type { PersonCall, Row } from './row.ts'
import { dashboardRows } from './rows.ts'
import { FIGURES_CHANGED } from './shown-figures.ts'

/** Of a proof, and of figures that are others by now. */
const ASKED_AGAIN = ['wrong_code', 'passkey_refused', 'challenge_over', 'too_many_attempts', FIGURES_CHANGED]

/** Does what the row says; asks for a confirmation first where the row wants one and the form brings none. */
export async function answerConfirmed<C extends PersonCall>(
  frame: Frame,
  row: Row<C>,
  call: C,
): Promise<FastifyReply> {
  const { session } = call
  if (!row.confirm || (row.confirm === 'recent' && session.isSteppedUp)) return answer(frame, row, call)
  // A page that has to be confirmed is asked for again afterwards; a form is carried along.
  if (row.method === 'GET') {
    const next = call.request.url.slice(rootOf(call.gateway).length)
    return call.reply
      .code(303)
      .header('Location', `${call.base}/step-up?next=${encodeURIComponent(next)}`)
      .send()
  }
  const ask = async (problem: Refusal | null) => {
    try {
      const sheet = await confirmPage(
        call,
        await row.consequence?.(call),
        problem,
        row.confirm === 'fresh',
        formPage(frame, call),
      )
      return sendSheet(frame, sheet, problem === null ? 200 : problem.reason === FIGURES_CHANGED ? 409 : 403)
    } catch (error) {
      return redraw(frame, row, call, error)
    }
  }
  const isProven = CONFIRMATION_FIELDS.some((name) => name !== 'challenge' && call.form.get(name) !== '')
  if (!isProven) return ask(null)
  try {
    const { token, factor } = await proveAgain(call.gateway, session, proofOf(call), origin(call))
    writeCookie(call.gateway, call.reply, token)
    const proven = { ...call, session: { ...session, factor, isSteppedUp: true } }
    return await answer(frame, row, proven)
  } catch (error) {
    if (
      error instanceof Refusal &&
      ['unauthenticated', 'conflict', 'forbidden'].includes(error.kind) &&
      ASKED_AGAIN.includes(error.reason)
    )
      return ask(error)
    throw error
  }
}

/**
 * Where the form stands, as the browser says; the overview where it says nothing, or names what can only be sent to, as a form
 * that was drawn again is.
 */
function formPage({ place }: Frame, call: PersonCall): string {
  const referer = URL.parse(call.request.headers.referer ?? '')
  // It says what was done before: of this form nothing was.
  referer?.searchParams.delete('done')
  const path = call.form.get(BACK_FIELD) || (referer ? referer.pathname + referer.search : '')
  const [below = ''] = path.slice(call.base.length).split('?')
  const isPage = path.startsWith(call.base) && PAGES.some((page) => page.test(below))
  return isPage ? path : (place?.here ?? call.base)
}

const PAGES = dashboardRows
  .filter(({ method, isStream }) => method === 'GET' && !isStream)
  .map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`))
