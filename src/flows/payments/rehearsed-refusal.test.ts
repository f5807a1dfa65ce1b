import assert from 'node:assert/strict'
import test from 'node:test'
import { call, testApp, testMerchant } from '../../../test/api.ts'
import { testGateway } from '../../../test/gateway.ts'
import { Refusal } from '../../core/errors.ts'
import { refuseAsRehearsed } from './rehearsed-refusal.ts'

test('a test account meets the answers of bad days when it asks for them, and only then', async () => {
  const gateway = await testGateway({ freshPerChain: 2 })
  const app = await testApp(gateway)
  const { key } = await testMerchant(gateway.db)
  const create = (reference: string) =>
    call(app, key, 'POST', '/payments', { body: { asset: 'LTC', fiat_amount: 5, reference } })
  for (const reason of ['chain_unavailable', 'no_rate', 'no_address']) {
    const answer = await create(`sandbox:${reason}`)
    assert.deepEqual([answer.status, answer.error.reason], [503, reason])
    assert.equal(answer.headers['retry-after'], '5')
  }
  assert.equal((await create('sandbox:toString')).status, 201)
})

test('no reference of a live account refuses anything', () => {
  refuseAsRehearsed({ mode: 'live' }, 'sandbox:no_rate')
  assert.throws(() => refuseAsRehearsed({ mode: 'test' }, 'sandbox:no_rate'), Refusal)
})
