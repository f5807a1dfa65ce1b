/** Files of payouts: what spreadsheets write is read, what is wrong is named by its line, and nothing is guessed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ASSETS, networkOf } from '../core/assets.ts'
import { PAYOUT_LINES_MAX, readPayoutFile, writePayoutFile } from './payout-file.ts'

const lineOf = (text: string) => readPayoutFile(text).lines[0]

test('commas, semicolons and tabs, quotes, headings, a byte order mark and empty lines are read alike', () => {
  const expected = { destination: 'tb1qx', amount: '0.5', asset: 'BTC', note: 'Invoice 1, "blue"' }
  for (const [text, line] of [
    ['tb1qx,0.5,BTC,"Invoice 1, ""blue"""', 1],
    ['tb1qx;0.5;btc;"Invoice 1, ""blue"""', 1],
    ['tb1qx\t0.5\tBTC\t"Invoice 1, ""blue"""', 1],
    ['\uFEFFaddress,amount,coin,note\r\n\r\n tb1qx , 0.5 ,BTC,"Invoice 1, ""blue"""\r\n', 3],
  ] as const) {
    const { line: at, ...rest } = lineOf(text) ?? { line: 0 }
    assert.deepEqual([at, rest], [line, expected], text)
  }
})

test('every line that is wrong is named, and the others are read', () => {
  const { lines, problems } = readPayoutFile(
    [
      'tb1qa,0.5,BTC',
      'tb1qb,0.5',
      'tb1qc,0.5,DOGE',
      'tb1qd,-1,BTC',
      'tb1qe,1e3,BTC',
      'tb1qf,0.123456789,BTC',
      ',0.5,BTC',
      'tltc1q,0.5,LTC',
      'tb1qa,0.5,BTC',
      `tb1qg,1,BTC,${'x'.repeat(81)}`,
      'tb1qh,1,BTC,note,more',
      'tb1qi,2,BTC',
    ].join('\n'),
  )
  assert.deepEqual(
    lines.map(({ destination }) => destination),
    ['tb1qa', 'tb1qa', 'tb1qi'],
  )
  assert.deepEqual(
    problems.map(({ line }) => line).sort((a, b) => a - b),
    [2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
  )
  assert.match(problems.find(({ line }) => line === 8)?.message ?? '', /one file has one network/)
  assert.match(problems.find(({ line }) => line === 9)?.message ?? '', /same as line 1/)
})

test('a quote that is not closed on its line, or stands inside a field, is a problem of its line, and no note is a payout', () => {
  for (const [text, wrong] of [
    ['tb1qa,1,BTC,"Invoice 7\ntb1qattacker,0.4,BTC"', [1, 2]],
    ['tb1qa,1,BTC,"Invoice 7\r\n"tb1qattacker",0.4,BTC', [1]],
    ['tb1qa,1,BTC,Invoice "7"', [1]],
    ['tb1qa,1,BTC,"Invoice" 7', [1]],
    ['tb1qa,1,BTC,"Invoice""', [1]],
    ['tb1qa,1,BTC,"Invoice" "7"', [1]],
    ['"', [1]],
  ] as const) {
    const { lines, problems } = readPayoutFile(text)
    assert.deepEqual(
      problems.map(({ line }) => line),
      wrong,
      text,
    )
    for (const { message } of problems) assert.match(message, /a quote is not closed on this line/)
    assert.ok(!lines.some(({ destination }) => destination === 'tb1qa'), text)
  }
  assert.equal(readPayoutFile('x\n'.repeat(100_000)).problems.length, PAYOUT_LINES_MAX + 1, 'bounded')
})

test('a file ends at its thousandth payout, and says so', () => {
  const rows = Array.from({ length: PAYOUT_LINES_MAX + 5 }, (_, at) => `tb1q${at},1,BTC`)
  const { lines, problems } = readPayoutFile(rows.join('\n'))
  assert.equal(lines.length, PAYOUT_LINES_MAX)
  assert.deepEqual(
    problems.map(({ line }) => line),
    [PAYOUT_LINES_MAX + 1],
  )
})

test('what was looked at is what is asked for: a file written again reads the same', () => {
  const anyText = fc
    .string({ unit: 'grapheme', maxLength: 40 })
    .map((text) => text.replace(/\p{Cc}/gu, '').trim())
  const anyLine = fc.record({
    destination: fc.stringMatching(/^[a-zA-Z0-9]{1,80}$/).filter((text) => !/^address$/i.test(text)),
    amount: fc.nat({ max: 10 ** 9 }).map((atoms) => String(atoms + 1)),
    asset: fc.constantFrom(...ASSETS.filter((asset) => networkOf(asset) === 'ethereum')),
    note: anyText,
  })
  fc.assert(
    fc.property(
      fc.uniqueArray(anyLine, { selector: ({ destination }) => destination, maxLength: 20 }),
      (given) => {
        const lines = given.map((line, at) => ({ ...line, line: at + 1 }))
        assert.deepEqual(readPayoutFile(writePayoutFile(lines)), { lines, problems: [] })
      },
    ),
  )
})
