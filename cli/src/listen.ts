/**
 * `beck listen`: forwards an account's events to a local server while it is being written. It asks the API for what
 * is new instead of being called, so it works behind any firewall, and signs each event as a webhook endpoint's.
 */
import { createHmac } from 'node:crypto'
import type { Terminal } from '../../src/cli/terminal.ts'
import { invalid, OutsideFailure } from '../../src/core/errors.ts'
import { backoffMs, pause } from '../../src/core/pause.ts'
import { openSender, type Sender } from '../../src/events/send.ts'
import { signatureHeaders } from '../../src/events/signature.ts'
import { type ApiOptions, openApi } from './api-client.ts'
import { type Event, type EventPage, eventsAfter } from './events.ts'

export interface ListenOptions extends ApiOptions {
  readonly forwardTo: string
  /** The event to go on after; only what happens from now on when left out. */
  readonly after?: string
}

const POLL_MS = 1_000
const PAUSE_MS_MAX = 10_000

/**
 * Runs until the signal ends it. Each line of output is one event with the receiver's answer, or with `--json` one
 * object. While the API or the local server does not answer at all, it waits and then goes on where it was; an event
 * that was answered, however badly, is not sent again.
 *
 * @throws {Refusal} when the URL or the key is not accepted, or `after` names no event.
 */
export async function listen(terminal: Terminal, options: ListenOptions, signal: AbortSignal): Promise<void> {
  const target = URL.parse(options.forwardTo)
  if (!target || !/^https?:$/.test(target.protocol)) {
    throw invalid(
      'invalid_url',
      `--forward-to is ${options.forwardTo}; give a URL such as http://localhost:3000/hook`,
    )
  }
  const api = openApi(options)
  const secret = secretOf(api.key)
  const sender = openSender({ allowPrivate: true })
  const patiently = <Done>(act: () => Promise<Done>) => untilAnswered(act, signal)
  try {
    const start = options.after ?? 'latest'
    let page = await patiently(() => eventsAfter(api, start))
    if (page === null) return
    const shown = `whsec_${secret.toString('base64')}`
    terminal.say(
      { forward_to: target.href, secret: shown },
      `Forwarding events to ${target.href}\nThe signing secret is ${shown} (the same whenever you use this key)`,
    )
    while (page !== null) {
      for (const event of page.items) {
        const answered = await patiently(() => forward(sender, target, secret, event, signal))
        if (answered === null) return
        const { status, durationMs } = answered
        terminal.say(
          { id: event.id, type: event.type, status, duration_ms: durationMs },
          `${new Date().toISOString()}  ${event.type.padEnd(18)}  ${event.id}  ${status}  ${durationMs} ms`,
        )
      }
      const { cursor }: EventPage = page
      if (!page.has_more) await pause(POLL_MS, signal)
      page = await patiently(() => eventsAfter(api, cursor))
    }
  } finally {
    sender.close()
  }
}

/** @throws {OutsideFailure} when no answer came, and so perhaps no request arrived. */
async function forward(sender: Sender, target: URL, secret: Buffer, event: Event, signal: AbortSignal) {
  const body = JSON.stringify(event)
  const headers = {
    ...signatureHeaders({ id: event.id, at: new Date(), body }, [secret]),
    'content-type': 'application/json',
    'user-agent': 'Beck',
  }
  const began = performance.now()
  const outcome = await sender.send({ url: target.href, headers, body }, signal)
  if (outcome?.kind === 'answered')
    return { status: outcome.status, durationMs: Math.round(performance.now() - began) }
  throw new OutsideFailure(
    `${target.href} did not take ${event.type} (${event.id}): ${outcome?.error ?? 'cut off'}`,
    {
      retryable: true,
    },
  )
}

/** Tries again, ever more slowly, as long as nothing answers. @returns Null when the signal ended it. */
async function untilAnswered<Done>(act: () => Promise<Done>, signal: AbortSignal): Promise<Done | null> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      return await act()
    } catch (error) {
      if (signal.aborted) return null
      if (!(error instanceof OutsideFailure)) throw error
      const pauseMs = backoffMs(failures, { firstMs: POLL_MS, maxMs: PAUSE_MS_MAX })
      process.stderr.write(`${error.message}; trying again in ${pauseMs / 1_000} s\n`)
      await pause(pauseMs, signal)
    }
  }
  return null
}

/** Made from the key, so that the local server's settings outlive this command. */
const secretOf = (key: string): Buffer => createHmac('sha256', key).update('beck listen').digest()
