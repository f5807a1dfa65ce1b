/**
 * How long something takes, or waits, is told by the steady clock (`performance.now()`): the wall clock is set back and forth
 * while Beck runs. What is told by the wall clock is a moment that others write, read or compare.
 */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import test from 'node:test'

/** Of each file that reads the wall clock, the moments that it reads it for. */
const MOMENTS: Readonly<Record<string, string>> = {
  'src/chains/bitcoin/tip.ts': 'the time of a block',
  'src/chains/ethereum/network.ts': 'the time of a block',
  'src/cli/doctor/clock.ts': 'the clocks of others',
  'src/cli/doctor/storage.ts': "the database's clock",
  'src/cli/drill.ts': 'when the newest row was written',
  'src/cli/keys.ts': 'when a key expires',
  'src/core/uuid.ts': 'when an id was made',
  'src/flows/operation/health.ts': 'the time of a block',
  'src/flows/people/app-code.ts': 'the codes of an app',
  'src/flows/people/sign-in-mails.ts':
    'the quarter of an hour that one mail is sent in, by whichever process',
  'src/flows/recovery/keep-time.ts': "the database's clock",
  'src/http/dashboard/pages/catch-up.ts': 'yesterday',
  'src/http/dashboard/pages/keys.ts': 'when a key expires',
  'src/http/dashboard/pages/sign-on.ts': 'what a browser carries from one process to another',
  'src/http/security-contact.ts': 'when the file expires',
  'src/http/trace-requests.ts': 'when a request came',
  'src/rates/market.ts': 'what exchanges say when they said it, beside the steady clock',
  'src/rates/sources/source.ts': 'what exchanges say when they said it',
  'src/signer/approvals/approvals.ts': 'what is written for the next process',
  'src/signer/approvals/left-freely.ts': 'what the last process wrote',
  'src/signer/approvals/release.ts': 'what is written for the next process',
  'src/signer/journal.ts': 'what is written for the next process',
  'src/signer/judge.ts': 'what left within a day, and when approvals end',
  'src/signer/sign-outputs.ts': 'what left within a day',
  'src/signer/signer.ts': 'when approvals end',
  'src/users/sign-in-challenge.sql.ts': 'what a browser carries from one process to another',
  'src/workers/send-mails.ts': 'when a mail is of no use any more',
}

test('the wall clock is read for moments alone', async () => {
  const files = await Array.fromAsync(glob(['src/**/*.ts', 'cli/src/**/*.ts']))
  const reading: string[] = []
  for (const file of files.filter((each) => !each.endsWith('.test.ts')))
    if (
      /\bDate\.now\b|new Date\(\)\)?\.(getTime|valueOf)|[+-] ?new Date\(\)/.test(await readFile(file, 'utf8'))
    )
      reading.push(file)
  assert.deepEqual(reading.sort(), Object.keys(MOMENTS).sort())
})
