import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newRequestId } from './request-id.ts'

test('no two requests have one name, however many are drawn at once', () => {
  const names = Array.from({ length: 2_000 }, newRequestId)
  assert.equal(new Set(names).size, names.length)
  for (const name of names) assert.match(name, /^req_[\w-]{16}$/)
})
