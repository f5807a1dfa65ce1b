import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { signatureHeaders } from './signature.ts'

/** The vector published with the reference libraries of Standard Webhooks. */
test('Standard Webhooks: the published vector is met', () => {
  const headers = signatureHeaders(
    {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      at: new Date(1_614_265_330_999),
      body: '{"test": 2432232314}',
    },
    [Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')],
  )
  assert.deepEqual(headers, {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('the reference library accepts any body, under the old and under the new secret, and no other', () => {
  fc.assert(
    fc.property(fc.json(), fc.string({ unit: 'binary' }), (json, text) => {
      const [older, newer, foreign] = [randomBytes(32), randomBytes(32), randomBytes(32)]
      const body = JSON.stringify({ data: JSON.parse(json), text: text.toWellFormed() })
      const headers = signatureHeaders({ id: 'evt_1', at: new Date(), body }, [newer, older])
      for (const secret of [older, newer]) {
        const verified = new Webhook(`whsec_${secret.toString('base64')}`).verify(body, headers)
        assert.deepEqual(verified, JSON.parse(body))
      }
      assert.throws(() => new Webhook(foreign.toString('base64')).verify(body, headers))
      assert.throws(() => new Webhook(newer.toString('base64')).verify(`${body} `, headers))
    }),
  )
})
