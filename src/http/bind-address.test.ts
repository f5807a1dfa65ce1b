/** BECK_HOST: the server is reached at that address of the machine, and at no other. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import test, { after } from 'node:test'
import { testGateway } from '../../test/gateway.ts'
import { readConfig } from '../config/config.ts'
import { startServer } from './server.ts'

const gateway = await testGateway()

async function serve(host: string | null): Promise<number> {
  const server = await startServer(gateway, { port: 0, ...(host === null ? {} : { host }) })
  after(() => server.close())
  return server.port
}

/** Whether somebody takes a connection there. */
const isReached = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (reached: boolean) => {
      socket.destroy()
      resolve(reached)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })

/** Each address of this machine but those of one link; all of 127.0.0.0/8 is its own. */
const addresses = (): string[] => [
  '127.0.0.2',
  ...Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('fe80:')),
]

test('with BECK_HOST the server listens at that address alone, without it at all of them', async () => {
  const { host } = readConfig({ BECK_HOST: '127.0.0.1' })
  assert.equal(host, '127.0.0.1')
  const [bound, open] = [await serve(host), await serve(readConfig({}).host)]
  assert.ok(await isReached('127.0.0.1', bound))
  for (const address of addresses()) {
    assert.equal(await isReached(address, open), true, `${address} without BECK_HOST`)
    if (address !== '127.0.0.1') assert.equal(await isReached(address, bound), false, `${address} is refused`)
  }
})

test('an address that this machine does not have is said to be none of its own', async () => {
  await assert.rejects(startServer(gateway, { port: 0, host: '192.0.2.1' }), { code: 'EADDRNOTAVAIL' })
  assert.throws(() => readConfig({ BECK_HOST: 'pay.example.com' }), /BECK_HOST/)
})
