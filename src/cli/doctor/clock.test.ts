import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import test, { after } from 'node:test'
import { clock } from './clock.ts'

/** A server whose clock is so far ahead. */
async function serverAhead(aheadMs: number | null): Promise<string> {
  const server = createServer((_request, response) => {
    response.sendDate = false
    if (aheadMs !== null) response.setHeader('date', new Date(Date.now() + aheadMs).toUTCString())
    // What it answers does not matter.
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

const among = async (...aheadMs: (number | null)[]) =>
  clock(await Promise.all(aheadMs.map((each) => serverAhead(each))))

test('a clock that agrees with the middle of those who were asked is fine', async () => {
  assert.equal((await among(0)).state, 'fine')
  assert.equal((await among(-3_600_000, 0, 3_600_000)).state, 'fine')
  assert.equal((await among(null, 0)).state, 'fine')
})

test('a clock that is off is named with its direction and what to do', async () => {
  const behind = await among(12_000, 12_000, 0)
  assert.equal(behind.state, 'warning')
  assert.match(behind.message, /1[12] s behind what 3 servers say/)
  const ahead = await among(-60_000)
  assert.equal(ahead.state, 'wrong')
  assert.match(ahead.message, /(59|60) s ahead of/)
  assert.match(ahead.advice ?? '', /NTP/)
})

test('when nobody tells the time, that is said', async () => {
  const finding = await clock([await serverAhead(null), 'http://127.0.0.1:9'])
  assert.equal(finding.state, 'warning')
  assert.match(finding.message, /nobody/)
})
