import assert from 'node:assert/strict'
import test from 'node:test'
import { newId, showId } from '../core/ids.ts'
import { askedByKey, isAsker, isKey, readAsker } from './asker.ts'

const [keyId, ann, bob] = [newId('key'), newId('usr'), newId('usr')]
const [key, annId, bobId] = [showId('key', keyId), showId('usr', ann), showId('usr', bob)]

test('who asked is read as it was written', () => {
  assert.deepEqual(readAsker(annId), { userId: ann, keyId: null })
  assert.deepEqual(readAsker(askedByKey(keyId, null)), { userId: null, keyId })
  assert.deepEqual(readAsker(askedByKey(keyId, ann)), { userId: ann, keyId })
  assert.deepEqual(readAsker('unknown'), { userId: null, keyId: null })
})

test('a person who asked, or made the key that asked, is the asker; nobody else is', () => {
  for (const askedBy of [annId, askedByKey(keyId, ann)]) {
    assert.equal(isAsker(annId, askedBy), true)
    assert.equal(isAsker(bobId, askedBy), false)
  }
  assert.equal(isAsker(annId, key), false)
  assert.deepEqual([key, askedByKey(keyId, ann), annId, 'unknown'].map(isKey), [true, true, false, false])
})

for (const askedBy of [
  '',
  ' ',
  'operator',
  `${key} made by `,
  `${key} made by ${key}`,
  `${key} made by ${annId} made by ${bobId}`,
  `${key} made by ${annId}\n`,
  `${key} MADE BY ${annId}`,
  `${key}  made by ${annId}`,
  `${annId} made by ${bobId}`,
  `${key} made by ${annId.toUpperCase()}`,
  ` ${annId}`,
])
  test(`${JSON.stringify(askedBy)} names nobody`, () => assert.equal(readAsker(askedBy), null))
