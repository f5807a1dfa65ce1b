import assert from 'node:assert/strict'
import { closeSync, fstatSync, openSync } from 'node:fs'
import { test } from 'node:test'
import { speaksToJournal } from './journal.ts'

test('output goes to a journal where it is the one that systemd names, and not where it was sent elsewhere', () => {
  const [journal, elsewhere] = [openSync('/dev/null', 'w'), openSync('/dev/zero', 'r')]
  try {
    const { dev, ino } = fstatSync(journal, { bigint: true })
    const env = { JOURNAL_STREAM: `${dev}:${ino}` }
    assert.equal(speaksToJournal(env, journal), true)
    assert.equal(speaksToJournal(env, elsewhere), false)
    assert.equal(speaksToJournal({}, journal), false)
  } finally {
    closeSync(journal)
    closeSync(elsewhere)
  }
})
