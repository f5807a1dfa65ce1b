/** The texts that passkeys sign are the ones that docs/internals/approvals.md publishes, byte for byte. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import fc from 'fast-check'
import { fingerprintOf } from './approver.ts'
import { challengeOf, digestOfTerms, type PayoutTerms, type Statement, statementText } from './statement.ts'

const COMMON = {
  account: 'acct_01kae3zf7q8v2m5n0r4t6w9xyb',
  request: 'apr_01kae40b1c2d3e4f5g6h7j8kmn',
  askedBy: 'usr_01kae41p9qrstvwxyz01234567',
  validUntil: new Date('2026-11-25T13:00:00.000Z'),
} as const
const TERMS: PayoutTerms = {
  withdrawal: 'wd_01kae42a1b2c3d4e5f6g7h8jkm',
  kind: 'payout',
  asset: 'BTC',
  amountAtoms: 150_000_000n,
  netAtoms: 149_847_790n,
  destination: 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4',
}
const REFUND: PayoutTerms = {
  withdrawal: 'wd_01kae43n1p2q3r4s5t6v7w8xyz',
  kind: 'refund',
  asset: 'BTC',
  amountAtoms: 20_000n,
  netAtoms: 17_790n,
  destination: '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
}
const POLICY = {
  coins: {
    BTC: { fromAtoms: 5_000_000n, approvals: 1 },
    USDC: { fromAtoms: 0n, approvals: 2 },
  },
  bindsKeys: true,
  allowlist: { isRequired: true, delayHours: 48 },
} as const

const STATEMENTS: Readonly<Record<string, Statement>> = {
  withdrawal: { ...COMMON, act: 'withdrawal', network: 'bitcoin mainnet', terms: TERMS },
  asked_by_key: {
    ...COMMON,
    askedBy: 'key_01kae45c1d2e3f4g5h6j7k8mnp made by usr_01kae41p9qrstvwxyz01234567',
    act: 'withdrawal',
    network: 'bitcoin mainnet',
    terms: { ...TERMS, withdrawal: 'wd_01kae43n1p2q3r4s5t6v7w8xyz' },
  },
  batch: {
    ...COMMON,
    act: 'batch',
    network: 'bitcoin mainnet',
    batch: 'bat_01kae44a1b2c3d4e5f6g7h8jkm',
    lines: [REFUND, TERMS],
  },
  policy: { ...COMMON, act: 'policy', follows: 0, policy: POLICY },
  allow: {
    ...COMMON,
    act: 'allow',
    network: 'ethereum',
    address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    name: 'Cold wallet, "second\nfloor"',
  },
  disallow: {
    ...COMMON,
    act: 'disallow',
    network: 'litecoin',
    address: 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9',
    name: 'Börse',
  },
}

test('each act has the text, and the SHA-256, that is published', async () => {
  const page = await readFile('docs/internals/approvals.md', 'utf8')
  const published = [...page.matchAll(/```statement\n([\s\S]*?)```\n\n`([0-9a-f]{64})`/g)]
  assert.deepEqual(
    published.map(([, text, digest]) => [text, digest]),
    Object.values(STATEMENTS).map((statement) => [
      statementText(statement),
      challengeOf(statement).toString('hex'),
    ]),
  )
  assert.ok(page.includes(`\`${digestOfTerms(TERMS)}\``), digestOfTerms(TERMS))
})

test('the fingerprint of an approver is the one that is published', async () => {
  const fingerprint = fingerprintOf({
    account: COMMON.account,
    user: COMMON.askedBy,
    name: 'whatever she is called',
    credentialId: 'q83vEjRWeJA',
    publicKey: 'pQECAyYgASFYIA',
    rpId: 'pay.example.org',
    origin: 'https://pay.example.org',
  })
  const page = await readFile('docs/internals/approvals.md', 'utf8')
  assert.ok(page.includes(`\`${fingerprint}\``), fingerprint)
})

/** Every way to change one thing of a statement. */
const changes: readonly ((statement: Statement) => Statement)[] = [
  (statement) => ({ ...statement, account: `${statement.account}x` }),
  (statement) => ({ ...statement, request: `${statement.request}x` }),
  (statement) => ({ ...statement, askedBy: 'key_01' }),
  (statement) => ({ ...statement, askedBy: 'key_01 made by usr_01' }),
  (statement) => ({ ...statement, validUntil: new Date(statement.validUntil.getTime() + 1) }),
  ...(['withdrawal', 'asset', 'destination', 'kind', 'amountAtoms', 'netAtoms'] as const).flatMap((field) => {
    const changed = (terms: PayoutTerms): PayoutTerms => ({
      ...terms,
      [field]: field.endsWith('Atoms') ? 1n : ({ asset: 'LTC', kind: 'refund' }[field as string] ?? 'other'),
    })
    return [
      (statement: Statement): Statement =>
        statement.act === 'withdrawal' ? { ...statement, terms: changed(statement.terms) } : statement,
      (statement: Statement): Statement =>
        statement.act === 'batch'
          ? { ...statement, lines: statement.lines.map((line, at) => (at === 1 ? changed(line) : line)) }
          : statement,
    ]
  }),
  (statement) => (statement.act === 'batch' ? { ...statement, lines: statement.lines.slice(1) } : statement),
  (statement) => (statement.act === 'batch' ? { ...statement, batch: 'bat_other' } : statement),
  (statement) =>
    statement.act === 'withdrawal' || statement.act === 'batch'
      ? { ...statement, network: 'bitcoin testnet' }
      : statement,
  (statement) => (statement.act === 'policy' ? { ...statement, follows: 1 } : statement),
  (statement) => (statement.act === 'allow' ? { ...statement, act: 'disallow' } : statement),
  (statement) => (statement.act === 'allow' ? { ...statement, network: 'litecoin' } : statement),
  (statement) => (statement.act === 'allow' ? { ...statement, name: 'another' } : statement),
  (statement) => (statement.act === 'allow' ? { ...statement, address: 'other' } : statement),
  (statement) =>
    statement.act === 'policy'
      ? { ...statement, policy: { ...statement.policy, bindsKeys: false } }
      : statement,
  (statement) =>
    statement.act === 'policy'
      ? { ...statement, policy: { ...statement.policy, allowlist: { isRequired: true, delayHours: 47 } } }
      : statement,
  (statement) =>
    statement.act === 'policy'
      ? {
          ...statement,
          policy: {
            ...statement.policy,
            coins: { ...statement.policy.coins, BTC: { fromAtoms: 5_000_001n, approvals: 1 } },
          },
        }
      : statement,
]

test('whatever is changed of a statement, it has another challenge', () => {
  const seen = new Set<string>()
  let made = 0
  for (const statement of Object.values(STATEMENTS))
    for (const changed of [
      statement,
      ...changes.map((change) => change(statement)).filter((one) => one !== statement),
    ]) {
      made += 1
      seen.add(challengeOf(changed).toString('hex'))
    }
  assert.equal(seen.size, made)
  assert.ok(made > 40, `${made} statements`)
})

test('the lines of a batch say the same in whatever order they come', () => {
  const { batch } = STATEMENTS as { batch: Statement & { act: 'batch' } }
  const turned = { ...batch, lines: [...batch.lines].reverse() }
  assert.equal(statementText(turned), statementText(batch))
})

test('no value can bring a line of its own', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('\n', '\r', '\r\n'), (text, end) => {
      const forged = `${text}${end}valid until: never`
      for (const statement of [
        { ...STATEMENTS.allow, address: forged },
        { ...STATEMENTS.withdrawal, askedBy: forged },
        { ...STATEMENTS.withdrawal, terms: { ...TERMS, destination: forged } },
        { ...STATEMENTS.batch, lines: [{ ...TERMS, destination: forged }] },
      ] as Statement[])
        assert.throws(() => statementText(statement), { name: 'InvariantBroken' })
    }),
  )
  const named = { ...STATEMENTS.allow, name: 'x\nvalid until: never' } as Statement
  assert.equal(statementText(named).split('\n').length, 10)
})
