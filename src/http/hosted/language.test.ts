import assert from 'node:assert/strict'
import test from 'node:test'
import { confirmationsOf, LANGUAGES, pickLanguage, showFiat } from './language.ts'
import { CONFIRMATIONS } from './languages/confirmations.ts'
import { en } from './languages/en.ts'

const names = (sentence: string): string[] => [...sentence.matchAll(/\{\w+\}/g)].map(String).sort()

for (const { name, words } of LANGUAGES) {
  test(`${name}: every sentence is there, with the same names to fill in`, () => {
    for (const [key, sentence] of Object.entries(en)) {
      const own = words[key as keyof typeof en]
      assert.ok(own.trim().length > 0, key)
      assert.deepEqual(names(own), names(sentence), `${key}: ${own}`)
    }
    assert.deepEqual(Object.keys(words).sort(), Object.keys(en).sort())
  })
}

test('the language is the one chosen, else the best that the browser accepts, else English', () => {
  const picks = [
    ['de', undefined, 'de'],
    ['xx', 'fr-CA,fr;q=0.9', 'fr'],
    [undefined, 'it, pt-BR;q=0.5, es;q=0.8', 'es'],
    [undefined, 'zh-Hant-TW', 'zh'],
    [undefined, 'ar;q=0, ja;q=0.1', 'ja'],
    [undefined, '*;q=0.5', 'en'],
    [undefined, 'q=;;,,', 'en'],
    ['__proto__', 'constructor', 'en'],
  ] as const
  for (const [chosen, accepted, expected] of picks) assert.equal(pickLanguage(chosen, accepted).tag, expected)
})

test('a currency is not torn apart in text that runs from right to left', () => {
  const show = (tag: string) => showFiat(pickLanguage(tag, undefined), 100_00n, 'USD')
  assert.match(show('ar'), /\u2066US\$\u2069/)
  assert.doesNotMatch(show('es'), /[\u2066-\u2069]/)
})

test('confirmations are counted in the plural of their language', () => {
  for (const language of LANGUAGES) {
    const shown = Array.from({ length: 100 }, (_, i) => confirmationsOf(language, i + 1))
    const categories = shown.map((_, i) => new Intl.PluralRules(language.tag).select(i + 1))
    for (const [i, sentence] of shown.entries()) {
      assert.match(sentence, /\{n\}/)
      assert.doesNotMatch(sentence, /\{m\}/)
      const form = CONFIRMATIONS[language.tag]?.[categories[i] ?? 'other']
      assert.ok(form, `${language.name} has words for ${categories[i]}, as ${i + 1} is`)
    }
  }
  const inEnglish = pickLanguage('en', undefined)
  assert.equal(confirmationsOf(inEnglish, 1), '{n} of 1 confirmation')
  assert.equal(confirmationsOf(pickLanguage('ar', undefined), 2), '{n} من تأكيدين')
  assert.equal(confirmationsOf(pickLanguage('ar', undefined), 12), '{n} من 12 تأكيدًا')
})
