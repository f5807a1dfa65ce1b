/** Who needs how many approvals for what. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ASSETS } from '../core/assets.ts'
import {
  type ApprovalPolicy,
  approvalsNeeded,
  approvalsToChange,
  policyJson,
  readPolicy,
} from './approval-policy.ts'

const POLICY: ApprovalPolicy = {
  coins: { BTC: { fromAtoms: 100n, approvals: 1 }, ETH: { fromAtoms: 0n, approvals: 2 } },
  bindsKeys: false,
  allowlist: { isRequired: false, delayHours: 0 },
}

test('from the bound on approvals are needed, what left freely within the day counted with it', () => {
  for (const [amount, left, expected] of [
    [99n, 0n, 0],
    [100n, 0n, 1],
    [1n, 98n, 0],
    [1n, 99n, 1],
    [1n, 1_000n, 1],
  ] as const) {
    const asked = { asset: 'BTC', amountAtoms: amount, askedBy: 'usr_1' } as const
    assert.equal(approvalsNeeded(POLICY, asked, left), expected, `${amount} after ${left}`)
  }
  assert.equal(approvalsNeeded(POLICY, { asset: 'ETH', amountAtoms: 1n, askedBy: 'unknown' }, 0n), 2)
  assert.equal(approvalsNeeded(POLICY, { asset: 'LTC', amountAtoms: 10n ** 12n, askedBy: 'usr_1' }, 0n), 0)
  assert.equal(approvalsNeeded(null, { asset: 'BTC', amountAtoms: 10n ** 12n, askedBy: 'usr_1' }, 0n), 0)
})

test('keys are bound where the policy says so', () => {
  const asked = { asset: 'BTC', amountAtoms: 100n, askedBy: 'key_1' } as const
  assert.equal(approvalsNeeded(POLICY, asked, 0n), 0)
  assert.equal(approvalsNeeded({ ...POLICY, bindsKeys: true }, asked, 0n), 1)
})

test('a policy is changed by as many as anything it guards', () => {
  assert.equal(approvalsToChange(POLICY), 2)
  assert.equal(approvalsToChange({ ...POLICY, coins: { BTC: { fromAtoms: 1n, approvals: 1 } } }), 1)
  assert.equal(approvalsToChange({ ...POLICY, coins: {} }), 1)
})

const anyPolicy: fc.Arbitrary<ApprovalPolicy> = fc.record(
  {
    coins: fc.dictionary(
      fc.constantFrom(...ASSETS),
      fc.record(
        {
          fromAtoms: fc.bigInt({ min: 0n, max: 10n ** 30n }),
          approvals: fc.constantFrom(1 as const, 2 as const),
        },
        { noNullPrototype: true },
      ),
      { noNullPrototype: true },
    ),
    bindsKeys: fc.boolean(),
    allowlist: fc.record(
      { isRequired: fc.boolean(), delayHours: fc.integer({ min: 0, max: 720 }) },
      { noNullPrototype: true },
    ),
  },
  { noNullPrototype: true },
)

test('a policy comes back from the database as it went there', () => {
  fc.assert(
    fc.property(anyPolicy, (policy) => {
      assert.deepEqual(readPolicy(JSON.parse(JSON.stringify(policyJson(policy)))), policy)
    }),
  )
})

test('what is no policy is read as none', () => {
  const good = policyJson(POLICY)
  assert.ok(readPolicy(good))
  for (const [what, json] of Object.entries({
    nothing: null,
    text: 'policy',
    list: [],
    'an unknown coin': { ...good, coins: { DOGE: { from_atoms: '1', approvals: 1 } } },
    'a list of coins': { ...good, coins: [] },
    'no approvals': { ...good, coins: { BTC: { from_atoms: '1', approvals: 0 } } },
    'three approvals': { ...good, coins: { BTC: { from_atoms: '1', approvals: 3 } } },
    'a negative bound': { ...good, coins: { BTC: { from_atoms: '-1', approvals: 1 } } },
    'a bound that is a number': { ...good, coins: { BTC: { from_atoms: 1, approvals: 1 } } },
    'a bound with a sign': { ...good, coins: { BTC: { from_atoms: '+1', approvals: 1 } } },
    'more of a rule': { ...good, coins: { BTC: { from_atoms: '1', approvals: 1, but: 'x' } } },
    'no word about keys': { coins: good.coins, allowlist: good.allowlist },
    'hours that are no hours': { ...good, allowlist: { is_required: true, delay_hours: 1.5 } },
    'a delay of years': { ...good, allowlist: { is_required: true, delay_hours: 10_000 } },
    'a negative delay': { ...good, allowlist: { is_required: true, delay_hours: -1 } },
    'more than a policy': { ...good, except: 'him' },
  }))
    assert.equal(readPolicy(json), null, what)
})
