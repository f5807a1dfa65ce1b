import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { newId, newPublicId, newRowId, readId, showId } from './ids.ts'

const bitsOf = (uuid: string): string => uuid.replaceAll('-', '')

test('an id is read back from how it is shown, under its own prefix only', () => {
  const id = newId('pay')
  const shown = showId('pay', id)
  assert.match(shown, /^pay_[0-9a-z]{26}$/)
  assert.equal(readId('pay', shown), id)
  assert.equal(readId('wd', shown), null)
  assert.equal(readId('pay', shown.replace('pay', 'wd')), null)
  const session = newPublicId('cs')
  assert.equal(readId('cs', showId('cs', session)), session)
})

test('ids are UUIDv7 that begin with the time of their making', () => {
  for (const make of [() => newId('pay'), newRowId]) {
    const before = Date.now()
    const id = make()
    const madeAt = Number.parseInt(bitsOf(id).slice(0, 12), 16)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.ok(before <= madeAt && madeAt <= Date.now())
  }
})

test('ids of all kinds are in the order of their making', () => {
  const made = Array.from({ length: 2_000 }, (_, n) => (n % 2 === 0 ? newId('evt') : newRowId()))
  assert.deepEqual(made, made.toSorted())
})

test('public ids tell neither time nor version: every one of their 128 bits is either', () => {
  const ids = Array.from({ length: 200 }, () => BigInt(`0x${bitsOf(newPublicId('plink'))}`))
  const everSet = ids.reduce((all, id) => all | id, 0n)
  const alwaysSet = ids.reduce((all, id) => all & id)
  assert.deepEqual([everSet, alwaysSet], [(1n << 128n) - 1n, 0n])
})

test('no text names an id but the one that shows it', () => {
  const character = fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyzA_-')
  fc.assert(
    fc.property(fc.string({ unit: character, minLength: 24, maxLength: 28 }), (text) => {
      const id = readId('cs', `cs_${text}`)
      if (id !== null) assert.equal(showId('cs', id), `cs_${text}`)
    }),
  )
})

test('what is no id is told from one, whatever it is', () => {
  const shown = showId('pay', newId('pay'))
  for (const wrong of [
    '',
    'pay',
    'pay_',
    shown.slice(0, -1),
    `${shown}0`,
    ` ${shown}`,
    shown.toUpperCase(),
    `pay_${'z'.repeat(26)}`,
    `pay_${'0'.repeat(25)}u`,
    `pay_${'0'.repeat(25)}\u0000`,
    newId('pay'),
  ])
    assert.equal(readId('pay', wrong), null, wrong)
})
