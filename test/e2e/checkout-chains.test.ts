/** Whole payments from the hosted page on real nodes: a Litecoin wallet, and a wallet in the browser on Anvil. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Page } from 'playwright-core'
import { showId } from '../../src/core/ids.ts'
import { parseDecimal } from '../../src/core/money.ts'
import { readCheckout } from '../../src/flows/checkout/checkout.ts'
import type { HostedPagesOptions } from '../../src/http/hosted/hosted.ts'
import { testApp } from '../api.ts'
import { startBrowser } from '../browser.ts'
import { testSession } from '../gateway.ts'
import { NO_LIMITS } from '../hosted.ts'
import { ethereumRoad } from './ethereum-road.ts'
import { litecoinRoad } from './litecoin-road.ts'
import type { Road } from './road.ts'

/** Far longer than anything takes, on a machine that does much else. */
const LIMIT_MS = 90_000
const browser = await startBrowser()

/** A session for 25 dollars and its page on a real port. */
async function openCheckout(
  road: Road,
  hosted: HostedPagesOptions,
  prepare?: (page: Page) => Promise<unknown>,
) {
  const app: FastifyInstance = await testApp(road.gateway, { hosted: { limits: NO_LIMITS, ...hosted } })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const session = await testSession(road.gateway, road.account, { amountMinor: 25_00n })
  const page = await (await browser.newContext({ locale: 'en-US' })).newPage()
  page.setDefaultTimeout(LIMIT_MS)
  await prepare?.(page)
  await road.follow()
  await page.goto(`${origin}/checkout/${showId('cs', session.id)}`)
  return {
    page,
    shows: (state: string) => page.waitForSelector(`#content[data-state=${state}]`),
    async pick(asset: string) {
      await page.check(`#coin-${asset}`, { force: true })
      await road.follow()
      await page.click('form[action$="/coin"] button[type=submit]')
      await page.waitForSelector('#content[data-state=waiting]')
      const payment = (await readCheckout(road.gateway.db, session.id))?.payment
      assert.ok(payment)
      return payment
    },
  }
}

test('a payment on a real litecoind, with the address and the amount that the page shows', async () => {
  const road = await litecoinRoad()
  const { page, shows, pick } = await openCheckout(road, { networks: { litecoin: 'regtest' } })
  const payment = await pick('LTC')
  const [address, amount] = await Promise.all([
    page.getAttribute('button[data-copy^="rltc1"]', 'data-copy'),
    page.textContent('[data-pay-amount]'),
  ])
  assert.equal(address, payment.address)
  const atoms = parseDecimal(amount ?? '', 8)
  assert.equal(atoms, payment.dueAtoms)
  const txid = await road.pay({ address: address ?? '', atoms: atoms ?? 0n })
  await road.follow()
  await shows('seen')
  assert.ok((await page.textContent('main'))?.includes(txid))
  await road.node.mine(1)
  await road.follow()
  await shows('confirming')
  await road.confirm()
  await shows('paid')
  assert.match((await page.textContent('main')) ?? '', /Litecoin regtest/)
  await road.prove()
  await page.context().close()
})

/** A wallet in the browser (EIP-6963) whose keys are Anvil's. */
const WALLET = `
  const provider = { request: (call) => window.askWallet(call) }
  const info = Object.freeze({ uuid: '350670db-19fa-4704-a166-e52e178b59d2', name: 'Test Wallet', icon: 'data:image/svg+xml,', rdns: 'example.wallet' })
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
  addEventListener('eip6963:requestProvider', announce)
  announce()
`

for (const asset of ['ETH', 'USDC'] as const) {
  test(`a payment in ${asset} on a real Anvil, filled in by a wallet of the browser`, async () => {
    const road = await ethereumRoad({ confirmations: 3 })
    const asked: string[] = []
    const prepare = async (page: Page) => {
      await page.exposeFunction('askWallet', (call: { method: string; params?: unknown[] }) => {
        asked.push(call.method)
        return call.method === 'eth_requestAccounts'
          ? road.anvil.rpc('eth_accounts', [])
          : road.anvil.rpc(call.method, call.params ?? [])
      })
      await page.addInitScript(WALLET)
    }
    const settings = { ...road.gateway.settings, tokens: { USDC: road.usdc, USDT: road.usdt } }
    const { page, shows, pick } = await openCheckout(
      { ...road, gateway: { ...road.gateway, settings } },
      { networks: { ethereum: 'dev' } },
      prepare,
    )
    const payment = await pick(asset)
    await page.getByRole('button', { name: 'Pay with Test Wallet' }).click()
    await shows('sent')
    assert.deepEqual(
      asked.filter((method) => method !== 'eth_chainId'),
      ['eth_requestAccounts', 'eth_sendTransaction'],
    )
    await road.anvil.mine()
    await road.follow()
    await shows('confirming')
    await road.confirm()
    await shows('paid')
    const { status, deposits } = await road.show(payment)
    assert.deepEqual(
      [status, deposits.map((deposit) => deposit.amount_atoms)],
      ['completed', [payment.dueAtoms.toString()]],
    )
    await road.prove()
    await page.context().close()
  })
}
