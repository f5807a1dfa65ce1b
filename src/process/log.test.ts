import assert from 'node:assert/strict'
import test from 'node:test'
import { newApiKey } from '../accounts/api-key.ts'
import { openLog } from './log.ts'

test('a secret never reaches the log, by whatever field or text it came', () => {
  const lines: string[] = []
  const log = openLog('info', (line) => lines.push(line))
  const apiKey = newApiKey('live')
  const secret = apiKey.slice(8)
  log.error(
    {
      err: new Error(`connect to postgres://beck:p@${secret}@db/beck failed`, {
        cause: new Error(`http://u:${secret}@node refused`),
      }),
      headers: { authorization: `Bearer ${secret}`, 'x-api-key': apiKey },
      node: { rpcUrl: `https://node/${secret}` },
      password: secret,
    },
    `a request with ${apiKey} and whsec_${secret} failed`,
  )
  assert.equal(lines.length, 1)
  assert.ok(!lines.join('').includes(secret), lines.join(''))
  const { level, msg } = JSON.parse(lines.join('')) as { level: string; msg: string }
  assert.equal(level, 'error')
  assert.equal(msg, 'a request with bk_live_*** and whsec_*** failed')
})
