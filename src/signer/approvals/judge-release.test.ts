/** Whatever policies, requests and approvals there are, nothing leaves that a policy does not allow. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ApprovalPolicy } from '../../approvals/approval-policy.ts'
import { HOUR_MS } from '../../core/time.ts'
import { judgeRelease, type Known, type OpenRequest, type ToRelease } from './judge-release.ts'

const NOW = Date.parse('2026-11-22T13:00:00Z')
const PEOPLE = ['usr_a', 'usr_b', 'usr_c', 'usr_d'] as const
/** Two, so that rules and requests meet often. */
const COINS = ['BTC', 'ETH'] as const
/** Of 100,000 stories, each verdict: the rarest, that small ones leave freely, is met some 520 times, give or take 25. */
const MET_MIN = 300
const small = fc.bigInt({ min: 0n, max: 12n })
const exactly = { noNullPrototype: true }

const policies: fc.Arbitrary<ApprovalPolicy | null> = fc.option(
  fc.record(
    {
      coins: fc.dictionary(
        fc.constantFrom(...COINS),
        fc.record({ fromAtoms: small, approvals: fc.constantFrom(1 as const, 2 as const) }, exactly),
        exactly,
      ),
      bindsKeys: fc.boolean(),
      allowlist: fc.record({ isRequired: fc.boolean(), delayHours: fc.integer({ min: 0, max: 3 }) }, exactly),
    },
    exactly,
  ),
)
const stories = fc.record({
  asked: fc.record({
    kind: fc.constantFrom('payout' as const, 'refund' as const),
    asset: fc.constantFrom(...COINS),
    amountAtoms: fc.bigInt({ min: 1n, max: 12n }),
    askedBy: fc.constantFrom(...PEOPLE, 'key_a', 'key_a made by usr_a', 'key_a made by usr_b', 'unknown'),
  }),
  known: fc.record({
    policy: policies,
    leftFreelyAtoms: fc.option(small),
    approvedBy: fc.uniqueArray(fc.constantFrom(...PEOPLE)).map((people) => new Set<string>(people)),
    allowedMs: fc.option(fc.integer({ min: -4, max: 1 }).map((hours) => NOW + hours * HOUR_MS)),
  }),
  request: fc.option(
    fc.record({
      status: fc.constantFrom('open', 'approved', 'declined', 'expired', 'refused') as fc.Arbitrary<
        OpenRequest['status']
      >,
      needed: fc.integer({ min: 1, max: 2 }),
      validUntil: fc.integer({ min: -2, max: 2 }).map((hours) => new Date(NOW + hours * HOUR_MS)),
    }),
  ),
})

/** Who approved it, and neither asked nor made the key that asked. */
const othersOf = ({ askedBy }: ToRelease, { approvedBy }: Known): number =>
  PEOPLE.filter((person) => approvedBy.has(person) && !askedBy.includes(person)).length

/** What a policy allows, said another way than the judge says it. */
function isAllowed(asked: ToRelease, known: Known): boolean {
  const { kind, asset, amountAtoms, askedBy } = asked
  const { policy, leftFreelyAtoms, allowedMs } = known
  if (!policy) return true
  if (kind === 'payout' && policy.allowlist.isRequired)
    if (allowedMs === null || NOW - allowedMs < policy.allowlist.delayHours * HOUR_MS) return false
  const rule = policy.coins[asset]
  if (!rule || (askedBy.startsWith('key_') && !policy.bindsKeys)) return true
  if (othersOf(asked, known) >= rule.approvals) return true
  return leftFreelyAtoms !== null && leftFreelyAtoms + amountAtoms < rule.fromAtoms
}

test('100,000 stories: nothing is released that its policy does not allow, nor against a request of the database', () => {
  const met = new Map<string, number>()
  fc.assert(
    fc.property(stories, ({ asked, known, request }) => {
      const verdict = judgeRelease(asked, known, request, NOW)
      const what = verdict.kind === 'release' ? `release ${verdict.by}` : `${verdict.kind}`
      met.set(what, (met.get(what) ?? 0) + 1)
      if (verdict.kind !== 'release') {
        // Without a request, what is allowed is not held up.
        if (request === null) assert.equal(isAllowed(asked, known), false)
        return
      }
      assert.ok(isAllowed(asked, known))
      assert.notEqual(request?.status, 'declined')
      const others = othersOf(asked, known)
      if (request && request.status !== 'approved') assert.ok(others >= request.needed)
      // What leaves freely is counted, and what is approved is not.
      const rule = known.policy?.coins[asked.asset]
      if (verdict.by === 'approved') assert.ok(rule && others >= rule.approvals)
      if (verdict.by === 'freely') assert.ok(rule && others < rule.approvals)
    }),
    { numRuns: 100_000 },
  )
  for (const what of ['release unbound', 'release freely', 'release approved', 'wait', 'refuse'])
    assert.ok((met.get(what) ?? 0) > MET_MIN, `${what}: ${met.get(what)}`)
})

test('whatever the database says of a request, it makes nothing laxer', () => {
  fc.assert(
    fc.property(stories, ({ asked, known, request }) => {
      const without = judgeRelease(asked, known, null, NOW)
      if (without.kind !== 'release')
        assert.notEqual(judgeRelease(asked, known, request, NOW).kind, 'release')
    }),
    { numRuns: 20_000 },
  )
})

test('small ones in a row, judged one after another, leave less than the bound', () => {
  fc.assert(
    fc.property(
      fc.array(fc.bigInt({ min: 1n, max: 40n }), { maxLength: 30 }),
      fc.bigInt({ min: 1n, max: 100n }),
      (amounts, bound) => {
        const policy: ApprovalPolicy = {
          coins: { BTC: { fromAtoms: bound, approvals: 1 } },
          bindsKeys: true,
          allowlist: { isRequired: false, delayHours: 0 },
        }
        let left = 0n
        for (const amountAtoms of amounts) {
          const known = { policy, leftFreelyAtoms: left, approvedBy: new Set<string>(), allowedMs: null }
          const verdict = judgeRelease(
            { kind: 'payout', asset: 'BTC', amountAtoms, askedBy: 'usr_a' },
            known,
            null,
            NOW,
          )
          if (verdict.kind === 'release') left += amountAtoms
        }
        assert.ok(left < bound)
      },
    ),
  )
})
