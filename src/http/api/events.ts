/** What happened, for a receiver that missed it. */
import type { Static } from 'typebox'
import { showId } from '../../core/ids.ts'
import { parseVerbatim } from '../../core/json.ts'
import { EVENT_TYPES, readableTypes } from '../../events/event.ts'
import { replayEvents } from '../../events/replay-events.sql.ts'
import { type Route, read } from '../route.ts'
import { Fields, Id, Nullable, OneOf, Timestamp } from '../schemas.ts'
import { Type } from '../type.ts'
import { RETRIEVED } from './payment-schemas.ts'

const LIMIT_DEFAULT = 25

const Event = Fields({
  id: Id('evt'),
  type: OneOf(EVENT_TYPES),
  created: Timestamp(),
  data: Type.Unsafe<object>({
    type: 'object',
    additionalProperties: true,
    description: 'the whole payment or withdrawal as it was then',
  }),
})

const EXAMPLE = {
  id: 'evt_01k6v3d6yqf5bbt9xgk2v7p8rm',
  type: 'payment.completed' as const,
  created: '2026-02-03T10:31:00.000Z',
  data: RETRIEVED,
}

export const events: readonly Route[] = [
  read('GET /events', {
    scope: 'webhooks:read',
    alsoScopes: ['payments:read'],
    ours: true,
    summary: 'Replay events',
    description:
      'The events of the last 30 days, oldest first, as they were sent. Give `cursor` of one answer as `after` of the ' +
      'next: nothing is left out and nothing comes twice, whatever happens in between. Events hold whole payments, so ' +
      '`payments:read` is needed too; `payout.completed` and `payout.failed` hold a withdrawal and come to keys with `withdrawals:read`.',
    query: Fields({
      after: Type.Optional(
        Type.String({
          maxLength: 100,
          description:
            "an event's id; `latest` for the newest event's cursor alone; the oldest event when left out",
        }),
      ),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: LIMIT_DEFAULT })),
    }),
    data: Fields({
      items: Type.Array(Event),
      has_more: Type.Boolean({ description: 'whether another page is there already' }),
      cursor: Nullable(
        Type.String({ description: 'what to give as `after` next; null while there is no event' }),
      ),
    }),
    refusals: { 400: ['unknown_event'] },
    example: { data: { items: [EXAMPLE], has_more: false, cursor: EXAMPLE.id } },
    async read({ db, account, scopes, query }) {
      const types = readableTypes(scopes.includes('withdrawals:read'))
      const page = await replayEvents(db, account.id, {
        types,
        after: query.after ?? null,
        limit: query.limit ?? LIMIT_DEFAULT,
      })
      return {
        // Numbers of the merchant's metadata keep their digits, as in the body that was signed.
        items: page.bodies.map((body) => parseVerbatim(body) as Static<typeof Event>),
        has_more: page.hasMore,
        cursor: page.cursor && showId('evt', page.cursor),
      }
    },
  }),
]
