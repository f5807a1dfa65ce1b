/** What `beck listen` and `beck trigger` refuse; what they do is told in test/e2e/listen.test.ts. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Terminal } from '../../src/cli/terminal.ts'
import { Refusal } from '../../src/core/errors.ts'
import { testApp, testKey, testMerchant } from '../../test/api.ts'
import { testGateway } from '../../test/gateway.ts'
import { listen } from './listen.ts'
import { trigger } from './trigger.ts'

const gateway = await testGateway()
const app = await testApp(gateway)
const { account, key } = await testMerchant(gateway.db)
const api = await app.listen({ host: '127.0.0.1', port: 0 })
const terminal: Terminal = { isJson: true, answer: () => {}, say: () => {} }

test('what cannot work is refused with what to do', async () => {
  const reader = await testKey(gateway.db, account, ['payments:read'])
  const live = await testMerchant(gateway.db, { mode: 'live' })
  const signal = new AbortController().signal
  const refused = (reason: string) => (error: unknown) => {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.reason, reason)
    return true
  }
  await assert.rejects(listen(terminal, { api, key, forwardTo: 'localhost' }, signal), refused('invalid_url'))
  const forwardTo = 'http://127.0.0.1:9/'
  await assert.rejects(listen(terminal, { api, key: reader, forwardTo }, signal), refused('missing_scope'))
  await assert.rejects(
    listen(terminal, { api, key: 'bk_test_x', forwardTo }, signal),
    refused('malformed_api_key'),
  )
  // The guides' placeholder, which no header can hold: nobody answered, it seemed, for ever.
  await assert.rejects(
    listen(terminal, { api: 'http://127.0.0.1:9', key: 'bk_test_…', forwardTo }, signal),
    refused('malformed_api_key'),
  )
  await assert.rejects(
    listen(terminal, { api, key, forwardTo, after: 'evt_x' }, signal),
    refused('unknown_event'),
  )
  await assert.rejects(trigger(terminal, 'payment.lost', { api, key }), refused('unknown_event_type'))
  await assert.rejects(
    trigger(terminal, 'payment.expired', { api, key: live.key }),
    refused('test_accounts_only'),
  )
  await assert.rejects(
    trigger(terminal, 'payment.expired', { api: 'http://127.0.0.1:9', key }),
    /does not answer/,
  )
})
