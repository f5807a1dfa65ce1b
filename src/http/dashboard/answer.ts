/** What a row's outcome becomes: a page, a redirect, a form that is drawn again, or trouble told in words. */
import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { Refusal } from '../../core/errors.ts'
import { answerTo } from '../errors.ts'
import { html } from '../hosted/html.ts'
import { writeCookie } from './cookie.ts'
import { withProblem } from './form-problem.ts'
import { protectDashboard } from './headers.ts'
import { type Frame, layout } from './layout.ts'
import { sentence } from './parts.ts'
import { type Call, type Outcome, type Row, SENT, type Sheet } from './row.ts'
import { FIGURES_CHANGED } from './shown-figures.ts'

export async function answer<C extends Call>(frame: Frame, row: Row<C>, call: C): Promise<FastifyReply> {
  let outcome: Outcome
  try {
    outcome = await row.handle(call)
  } catch (error) {
    return redraw(frame, row, call, error)
  }
  if (outcome === SENT) return call.reply
  if ('token' in outcome && outcome.token !== undefined) writeCookie(call.gateway, call.reply, outcome.token)
  if ('to' in outcome) {
    const to = outcome.done
      ? `${outcome.to}${outcome.to.includes('?') ? '&' : '?'}done=${outcome.done}`
      : outcome.to
    return call.reply.code(303).header('Location', to).send()
  }
  return sendSheet(frame, outcome, 200)
}

/** A form that was refused is shown again, filled in, with what is wrong beside it. */
export async function redraw<C extends Call>(
  frame: Frame,
  row: Row<C>,
  call: C,
  error: unknown,
): Promise<FastifyReply> {
  if (
    !row.redraw ||
    !(error instanceof Refusal) ||
    error.kind === 'not_found' ||
    ['missing_permission', FIGURES_CHANGED].includes(error.reason)
  )
    throw error
  call.request.refusal = error.reason
  const problem = { refusal: error, drawn: new Map<string, string>() }
  const sheet = await row.redraw({ ...call, problem })
  return sendSheet(frame, { ...sheet, content: withProblem(problem, sheet.content) }, answerTo(error).status)
}

export function sendSheet(frame: Frame, sheet: Sheet, status: number): FastifyReply {
  const { reply, nonce } = frame.call
  // What a page that looks again compares: all but the nonce, and the message that a redirect brought.
  const version = sheet.isLive ? versionOf(sheet) : null
  if (version) reply.header('X-Version', version)
  return protectDashboard(reply, nonce)
    .code(status)
    .type('text/html; charset=utf-8')
    .send(layout(frame, sheet, version).markup)
}

const versionOf = ({ content }: Sheet): string =>
  createHash('sha256').update(html`${content}`.markup).digest('base64url').slice(0, 16)

const TITLES: Readonly<Record<number, string>> = { 403: 'Not permitted', 404: 'Not found' }

/** People are told what they can do; the operator finds the cause in the log. */
export function sendTrouble(frame: Frame, error: unknown): FastifyReply {
  const { call, place } = frame
  const told = answerTo(error)
  call.request.refusal = told.reason
  if (told.logged) {
    const line = {
      request_id: call.request.id,
      method: call.request.method,
      route: call.request.routeOptions.url,
      err: error,
    }
    if (told.status === 500) call.gateway.log.error(line, 'a page of the dashboard failed')
    else call.gateway.log.warn(line, 'a page of the dashboard could not be shown')
  }
  if (told.retryAfterSeconds !== undefined) call.reply.header('Retry-After', told.retryAfterSeconds)
  const title = TITLES[told.status] ?? (told.status >= 500 ? 'Not now' : 'Not done')
  const back =
    told.reason === 'second_factor_required'
      ? html`<a class="button primary" href="${call.base}/me">Add a second factor</a>`
      : html`<a class="button plain" href="${(told.reason !== 'plain_http' && place?.here) || call.base}">Back to the overview</a>`
  return sendSheet(
    frame,
    {
      title,
      width: 'narrow',
      content: html`<h1>${title}</h1><p class="lead" data-reason="${told.reason}">${sentence(told.message)}</p><p>${back}</p>${told.status >= 500 && html`<p class="hint">If you ask for help, name the request <code>${call.request.id}</code>.</p>`}`,
    },
    told.status,
  )
}
