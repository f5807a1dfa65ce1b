import assert from 'node:assert/strict'
import test from 'node:test'
import { type ChainMoment, type DecidedDeposit, type DecidedPayment, decide, mayCancel } from './decide.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from './payment.ts'

const WINDOW_ENDS = new Date('2026-01-01T12:30:00Z')
const INSIDE = new Date('2026-01-01T12:10:00Z')
const AFTER = new Date('2026-01-01T12:31:00Z')
const DUE = 100n

const deposit = (change: Partial<DecidedDeposit> = {}): DecidedDeposit => ({
  asset: 'BTC',
  amountAtoms: DUE,
  status: 'seen',
  seenAt: INSIDE,
  late: false,
  dust: false,
  ...change,
})
const open: ChainMoment = { now: INSIDE, polledAt: INSIDE }
const over: ChainMoment = { now: AFTER, polledAt: AFTER }
const blind: ChainMoment = { now: AFTER, polledAt: INSIDE }

const exact = deposit({ status: 'confirmed' })
const low = deposit({ status: 'confirmed', amountAtoms: 60n })
const rest = deposit({ status: 'seen', amountAtoms: 40n })
const high = deposit({ status: 'confirmed', amountAtoms: 130n })
const late = deposit({ status: 'confirmed', late: true, seenAt: AFTER })
const lateExtra = { ...late, amountAtoms: 5n }
const little = deposit({ amountAtoms: 5n })
const lateSeen: DecidedDeposit = { ...late, status: 'seen' }
const gone = deposit({ status: 'replaced' })
const vanished = deposit({ status: 'dropped' })
const orphan = deposit({ status: 'reorganised' })
const crumb = deposit({ status: 'confirmed', amountAtoms: 1n, dust: true })
const foreign = deposit({ status: 'confirmed', asset: 'LTC' })

type Trigger = readonly [name: string, deposits: readonly DecidedDeposit[], moment: ChainMoment]
const TRIGGERS: readonly Trigger[] = [
  ['nothing, window open', [], open],
  ['nothing, window over', [], over],
  ['nothing, window over, blind', [], blind],
  ['funds in the mempool', [deposit()], open],
  ['due confirmed', [exact], open],
  ['due confirmed, window over', [exact], over],
  ['more confirmed', [high], open],
  ['less confirmed', [low], open],
  ['less confirmed, rest seen', [low, rest], open],
  ['due confirmed, extra seen', [exact, rest], open],
  ['due and extra confirmed', [exact, low], open],
  ['due and late extra confirmed', [exact, lateExtra], over],
  ['replaced, window open', [gone], open],
  ['replaced, window over', [gone], over],
  ['replaced, window over, blind', [gone], blind],
  ['dropped, window over', [vanished], over],
  ['block lost', [orphan], open],
  ['late funds only', [late], over],
  ['less confirmed, late rest', [low, late], over],
  ['little waits, late confirmed', [little, late], over],
  ['little waits, late, blind', [little, late], blind],
  ['little waits, late seen', [little, lateSeen], over],
  ['dust only', [crumb], open],
  ['dust only, window over', [crumb], over],
  ['another coin only', [foreign], open],
]

/**
 * Rows as TRIGGERS, columns as named; `-` stays what it is. `!` marks a payment that was settled before, `~` one of a
 * checkout.
 */
const TABLE = `
                                pending    detected   underpaid  completed  overpaid   expired    failed     cancelled  detected!  cancelled~
nothing, window open            -          pending    detected   detected   detected   -          -          -          failed     -
nothing, window over            expired    failed     detected   detected   detected   -          -          -          failed     -
nothing, window over, blind     -          -          detected   detected   detected   -          -          -          failed     -
funds in the mempool            detected   -          detected   detected   detected   -          -          -          -          detected
due confirmed                   detected   completed  detected   -          completed  -          -          -          completed  detected
due confirmed, window over      detected   completed  detected   -          completed  -          -          -          completed  detected
more confirmed                  detected   overpaid   detected   overpaid   -          -          -          -          overpaid   detected
less confirmed                  detected   underpaid  -          detected   detected   -          -          -          underpaid  -
less confirmed, rest seen       detected   -          detected   detected   detected   -          -          -          -          detected
due confirmed, extra seen       detected   completed  detected   -          completed  -          -          -          completed  detected
due and extra confirmed         detected   overpaid   detected   overpaid   -          -          -          -          overpaid   detected
due and late extra confirmed    detected   completed  detected   overpaid   -          -          -          -          overpaid   detected
replaced, window open           -          pending    detected   detected   detected   -          -          -          failed     -
replaced, window over           expired    failed     detected   detected   detected   -          -          -          failed     -
replaced, window over, blind    -          -          detected   detected   detected   -          -          -          failed     -
dropped, window over            expired    failed     detected   detected   detected   -          -          -          failed     -
block lost                      detected   -          detected   detected   detected   -          -          -          -          detected
late funds only                 expired    failed     detected   -          completed  -          -          -          completed  -
less confirmed, late rest       detected   underpaid  -          overpaid   -          -          -          -          overpaid   -
little waits, late confirmed    detected   underpaid  -          -          completed  -          -          -          completed  -
little waits, late, blind       detected   -          detected   -          completed  -          -          -          completed  -
little waits, late seen         detected   -          detected   detected   detected   -          -          -          -          -
dust only                       -          pending    detected   detected   detected   -          -          -          failed     -
dust only, window over          expired    failed     detected   detected   detected   -          -          -          failed     -
another coin only               -          pending    detected   detected   detected   -          -          -          failed     -
`

const [header = '', ...rows] = TABLE.trim().split('\n')
const COLUMNS = header.trim().split(/\s+/)

test('the table names every status and every trigger', () => {
  assert.deepEqual(
    COLUMNS.filter((column) => !/[!~]$/.test(column)).toSorted(),
    [...PAYMENT_STATUSES].toSorted(),
  )
  assert.deepEqual(
    rows.map((row) => row.slice(0, 32).trim()),
    TRIGGERS.map(([name]) => name),
  )
})

for (const [index, [name, deposits, moment]] of TRIGGERS.entries()) {
  const cells = (rows[index] ?? '').slice(32).trim().split(/\s+/)
  for (const [column, heading] of COLUMNS.entries()) {
    const status = heading.replace(/[!~]/, '') as PaymentStatus
    const expected = cells[column] === '-' ? null : cells[column]
    test(`${heading}: ${name} -> ${cells[column]}`, () => {
      const wasSettled = heading.endsWith('!')
      const isSettled = status === 'completed' || status === 'overpaid'
      const payment: DecidedPayment = {
        status,
        asset: 'BTC',
        dueAtoms: DUE,
        toleratedAtoms: 0n,
        expiresAt: WINDOW_ENDS,
        settlements: wasSettled || isSettled ? 1 : 0,
        settledAtoms: isSettled ? DUE : null,
        acceptedAtoms: null,
        refundedAtoms: 0n,
        isOfCheckout: heading.endsWith('~'),
      }
      assert.equal(decide(payment, deposits, moment)?.to ?? null, expected)
    })
  }
}

test('only a pending payment that nothing was seen for can be cancelled', () => {
  for (const status of PAYMENT_STATUSES) {
    assert.equal(mayCancel({ status }, []), status === 'pending')
    assert.equal(mayCancel({ status }, [deposit()]), false)
  }
  assert.equal(mayCancel({ status: 'pending' }, [gone, crumb]), true)
})

test('funds seen name the moment of the first sighting', () => {
  const first = new Date(INSIDE.getTime() - 60_000)
  const payment = {
    status: 'pending',
    asset: 'BTC',
    dueAtoms: DUE,
    toleratedAtoms: 0n,
    expiresAt: WINDOW_ENDS,
    settlements: 0,
    settledAtoms: null,
    acceptedAtoms: null,
    refundedAtoms: 0n,
    isOfCheckout: false,
  } as const
  const step = decide(payment, [deposit(), deposit({ seenAt: first })], open)
  assert.deepEqual(step, { to: 'detected', because: 'funds_seen', detectedAt: first })
})

test('what was refunded covers nothing: a top-up completes the quote alone, or not', () => {
  const payment = {
    status: 'underpaid',
    asset: 'BTC',
    dueAtoms: DUE,
    toleratedAtoms: 0n,
    expiresAt: WINDOW_ENDS,
    settlements: 0,
    settledAtoms: null,
    acceptedAtoms: null,
    refundedAtoms: DUE / 2n,
    isOfCheckout: false,
  } as const
  const half = deposit({ amountAtoms: DUE / 2n, status: 'confirmed' })
  assert.equal(decide(payment, [half, half], open), null)
  assert.equal(decide({ ...payment, status: 'detected' }, [half, half], open)?.to, 'underpaid')
  assert.equal(decide({ ...payment, status: 'detected' }, [half, half, half], open)?.to, 'completed')
  assert.equal(
    decide({ ...payment, status: 'detected', refundedAtoms: 0n }, [half, half], open)?.to,
    'completed',
  )
})

test('what is missing within the tolerance counts as paid once nothing more is on its way, and is credited as what came', () => {
  const payment = {
    status: 'detected',
    asset: 'BTC',
    dueAtoms: DUE,
    toleratedAtoms: 5n,
    expiresAt: WINDOW_ENDS,
    settlements: 0,
    settledAtoms: null,
    acceptedAtoms: null,
    refundedAtoms: 0n,
    isOfCheckout: false,
  } as const
  const came = (amountAtoms: bigint) => deposit({ amountAtoms, status: 'confirmed' })
  const completed = (settledAtoms: bigint) => ({ to: 'completed', because: 'covered', settledAtoms })
  for (const [deposits, step] of [
    [[came(94n)], { to: 'underpaid', because: 'too_little' }],
    [[came(95n)], completed(95n)],
    [[came(99n)], completed(99n)],
    [[came(DUE)], completed(DUE)],
    [[came(95n), deposit({ amountAtoms: 5n })], null],
    [[came(95n), came(5n)], completed(DUE)],
    [[came(101n)], { to: 'overpaid', because: 'covered', settledAtoms: DUE }],
  ] as const)
    assert.deepEqual(decide(payment, deposits, open), step)
  // Of a payment that settled with less, nothing is missing and nothing is too much.
  const settled = { ...payment, status: 'completed', settlements: 1, settledAtoms: 95n } as const
  assert.equal(decide(settled, [came(95n)], over), null)
  assert.equal(decide(settled, [came(95n), came(5n)], over)?.to, 'overpaid')
})

test('what was accepted before a reorganisation took it settles again at that sum, and is waited for while it may come back', () => {
  const payment = {
    status: 'detected',
    asset: 'BTC',
    dueAtoms: DUE,
    toleratedAtoms: 0n,
    expiresAt: WINDOW_ENDS,
    settlements: 2,
    settledAtoms: null,
    refundedAtoms: 0n,
    isOfCheckout: false,
  } as const
  const came = (amountAtoms: bigint) => deposit({ amountAtoms, status: 'confirmed' })
  const waits = (amountAtoms: bigint) => deposit({ amountAtoms, status: 'reorganised' })
  const covered = (to: 'completed' | 'overpaid', settledAtoms: bigint) =>
    ({ to, because: 'covered', settledAtoms }) as const
  for (const [acceptedAtoms, deposits, step] of [
    // Less than was due.
    [60n, [waits(60n)], null],
    [60n, [came(60n)], covered('completed', 60n)],
    [60n, [came(30n), waits(30n)], null],
    [60n, [came(30n), gone], { to: 'underpaid', because: 'too_little' }],
    [60n, [came(60n), came(40n)], covered('overpaid', 60n)],
    // More than was due.
    [130n, [came(DUE), waits(30n)], null],
    [130n, [came(DUE), came(30n)], covered('completed', 130n)],
    [130n, [came(DUE), gone], covered('completed', DUE)],
    [130n, [came(120n), gone], covered('overpaid', DUE)],
    [130n, [came(130n), deposit({ amountAtoms: 5n })], covered('completed', 130n)],
    // Without an acceptance nothing beyond what is due is waited for.
    [null, [came(DUE), waits(30n)], covered('completed', DUE)],
  ] as const)
    assert.deepEqual(decide({ ...payment, acceptedAtoms }, deposits, over), step, `${acceptedAtoms}`)
  assert.deepEqual(decide({ ...payment, acceptedAtoms: 60n, refundedAtoms: 10n }, [came(60n)], over), {
    to: 'underpaid',
    because: 'too_little',
  })
  const underpaid = { ...payment, status: 'underpaid', acceptedAtoms: 60n } as const
  assert.equal(decide(underpaid, [came(30n), gone], over), null)
  assert.equal(decide(underpaid, [came(30n), came(30n)], over)?.to, 'detected')
})
