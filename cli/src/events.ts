/** `beck events`: what happened to an account, as `GET /v1/events` tells it. */
import { type Terminal, table } from '../../src/cli/terminal.ts'
import { type ApiClient, type ApiOptions, openApi, readCount } from './api-client.ts'

interface EventOptions extends ApiOptions {
  readonly after?: string
  readonly type?: string
  readonly limit: string
}

export interface Event {
  readonly id: string
  readonly type: string
  readonly created: string
  readonly data: { readonly id: string; readonly status: string }
}

export interface EventPage {
  readonly items: readonly Event[]
  readonly has_more: boolean
  readonly cursor: string | null
}

const EVENTS_MAX = 100_000

/** @param after - An event's id; `latest` for what happens from now on; null for the oldest kept. */
export const eventsAfter = (api: ApiClient, after: string | null): Promise<EventPage> =>
  api.call('GET', `/events?limit=100${after === null ? '' : `&after=${encodeURIComponent(after)}`}`)

/** @throws {Refusal} when `after` names no event, or the key may not read them. */
export async function listEvents(terminal: Terminal, options: EventOptions): Promise<void> {
  const limit = readCount('--limit', options.limit, EVENTS_MAX)
  const api = openApi(options)
  const events: Event[] = []
  let after = options.after ?? null
  for (let hasMore = true; hasMore && events.length < limit; ) {
    const page = await eventsAfter(api, after)
    events.push(...page.items.filter(({ type }) => !options.type || type === options.type))
    after = page.cursor
    hasMore = page.has_more
  }
  const shown = events.slice(0, limit)
  terminal.answer(
    { events: shown },
    shown.length === 0
      ? ['There is no such event of the last 30 days.']
      : table(shown.map(({ id, type, created, data }) => [created, type, data.status, data.id, id])),
  )
}
