import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  hasReverted,
  isOpen,
  SIGNED_STATUSES,
  SIGNED_TRIGGERS,
  type SignedStatus,
  type SignedTrigger,
  signedStatusAfter,
} from './signed-transaction.ts'

/** What each trigger makes of each state; a dot for what can not befall it there. */
const TABLE = `
                             placed      ready        sent            refused         recovered       mined           mined_reverted  confirmed  reverted   displaced  impossible
  ready                   ready    .               .               .               ready        .               .               .          .          .          .
  sent                       .           sent            sent            sent            recovered       mined           mined_reverted  confirmed  reverted   displaced  impossible
  refused                    .           refused         refused         refused         recovered       mined           mined_reverted  confirmed  reverted   displaced  impossible
  mined                      .           mined           mined           mined           mined           mined           mined           .          .          .          .
  mined_reverted             .           mined_reverted  mined_reverted  mined_reverted  mined_reverted  mined_reverted  mined_reverted  .          .          .          .
  buried                    .           .               .               .               .               confirmed       reverted        .          .          .          .
  reorganised                .           .               .               .               .               ready        ready        ready   ready   ready   .
  reorganised_without_bytes  .           .               .               .               .               recovered       recovered       recovered  recovered  recovered  .
  displaced                  displaced   displaced       displaced       displaced       displaced       displaced       displaced       .          .          .          .
  impossible                 impossible  impossible      impossible      impossible      impossible      .               .               .          .          .          .
`

const [header = [], ...lines] = TABLE.trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))

test('every state meets every trigger', () => {
  assert.deepEqual(header, [...SIGNED_STATUSES])
  assert.deepEqual(
    lines.map(([trigger]) => trigger),
    [...SIGNED_TRIGGERS],
  )
  for (const [trigger, ...cells] of lines)
    for (const [column, cell] of cells.entries()) {
      const from = header[column] as SignedStatus
      const to = signedStatusAfter(from, trigger as SignedTrigger)
      assert.equal(to ?? '.', cell, `${from} ${trigger}`)
    }
})

test('what is impossible stays so, what is placed is never in a block, and only a reorganisation opens what was buried', () => {
  const triggers = fc.array(fc.constantFrom(...SIGNED_TRIGGERS), { maxLength: 40 })
  fc.assert(
    fc.property(triggers, (story) => {
      let status: SignedStatus = 'placed'
      for (const trigger of story) {
        const next = signedStatusAfter(status, trigger)
        if (next === null) continue
        if (status === 'placed') assert.ok(!next.startsWith('mined'))
        if (status === 'impossible') assert.equal(next, 'impossible')
        if (!isOpen(status) && isOpen(next)) assert.match(trigger, /^reorganised/)
        if (hasReverted(next) && !hasReverted(status)) assert.equal(trigger, 'mined_reverted')
        status = next
      }
    }),
  )
})
