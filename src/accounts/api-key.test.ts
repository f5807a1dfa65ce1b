import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../core/errors.ts'
import { SCOPES } from '../core/scopes.ts'
import { hashApiKey, newApiKey, parseApiKey, readScopes } from './api-key.ts'

test('a new key has the shape of its mode, and its hash is found again', () => {
  for (const mode of ['live', 'test'] as const) {
    const key = newApiKey(mode)
    assert.match(key, new RegExp(`^bk_${mode}_[0-9A-Za-z]{38}$`))
    assert.deepEqual(parseApiKey(key), { mode, hash: hashApiKey(key) })
  }
})

test('a key with any one character changed, cut off or added is no key', () => {
  const key = newApiKey('live')
  fc.assert(
    fc.property(fc.nat(key.length - 1), fc.constantFrom(...'aZ09_'), (at, character) => {
      const changed = key.slice(0, at) + character + key.slice(at + 1)
      assert.equal(parseApiKey(changed) !== null, changed === key)
    }),
  )
  for (const wrong of [key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`, key.replace('live', 'test'), '']) {
    assert.equal(parseApiKey(wrong), null)
  }
})

test('the secret of a key never repeats and uses the whole alphabet', () => {
  const secrets = Array.from({ length: 500 }, () => newApiKey('test').slice(8, 40))
  assert.equal(new Set(secrets).size, 500)
  assert.equal(new Set(secrets.join('')).size, 62)
})

test('scopes are read from "all" or a list, and an unknown one is named', () => {
  assert.deepEqual(readScopes('all'), SCOPES)
  assert.deepEqual(readScopes('webhooks:read, payments:read,payments:read'), [
    'payments:read',
    'webhooks:read',
  ])
  for (const wrong of ['', 'payments:all', 'payments:read,', 'PAYMENTS:READ']) {
    assert.throws(() => readScopes(wrong), Refusal)
  }
})
