/** The operator sees what each exchange said, which of them make the rate, and what runs. */
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { testApp } from '../../../test/api.ts'
import { testPerson } from '../../../test/dashboard.ts'
import { startExchange } from '../../../test/exchange.ts'
import { testGateway } from '../../../test/gateway.ts'
import { until } from '../../../test/wait-for.ts'
import { SILENT } from '../../core/log.ts'
import { startMarket } from '../../rates/market.ts'
import { bitstamp } from '../../rates/sources/bitstamp.ts'
import { coinbase } from '../../rates/sources/coinbase.ts'
import { kraken } from '../../rates/sources/kraken.ts'
import { readLimits } from '../../withdrawals/limits.ts'

const gateway = await testGateway()

const PRICES = { 'BTC/USD': 65_000, 'ETH/USD': 3_000, 'LTC/USD': 80, 'USDC/USD': 1, 'USDT/USD': 1 }

test('the page of rates has a row for each exchange: its price, what is left out, and why one is silent', async () => {
  const far = await startExchange('kraken', { ...PRICES, 'BTC/USD': 90_000 })
  const silent = await startExchange('bitstamp', PRICES)
  silent.behave('error')
  const sources = [
    coinbase({ baseUrl: (await startExchange('coinbase', PRICES)).url }),
    kraken({ baseUrl: far.url }),
    bitstamp({ baseUrl: silent.url }),
  ]
  const live = startMarket({ sources, isNeeded: async () => true, log: SILENT, intervalMs: 20 })
  after(() => live.stop())
  await until('all were asked', async () =>
    live.sources().every(({ answeredAt, problem }) => answeredAt !== null || problem !== null),
  )
  const app = await testApp({ ...gateway, rates: { ...gateway.rates, live } })
  const operator = await testPerson(gateway, app, { isOperator: true })
  const { html } = await operator.get('/dashboard/operator/health')
  const rows = new Map(
    [...html.matchAll(/<tr><td[^>]*><strong>(coinbase|kraken|bitstamp)<\/strong>[\s\S]*?<\/tr>/g)].map(
      ([row, name]) => [String(name), row],
    ),
  )
  // Of two that disagree neither counts.
  assert.match(rows.get('kraken') ?? '', /<s>[^<]*90,000/)
  assert.match(rows.get('coinbase') ?? '', /<s>[^<]*65,000/)
  assert.match(rows.get('coinbase') ?? '', /data-label="ETH">[^<]*3,000/)
  assert.match(rows.get('bitstamp') ?? '', /not yet<br><span class="hint">[^<]+<\/span>/)

  assert.match(html, /Signer’s limits[\s\S]*None are set here/)
  // They are served where strangers do not come: whoever followed a link would find nothing.
  assert.doesNotMatch(html, /href="[^"]*\/(metrics|readyz)/)

  const bare = await testApp(gateway)
  const page = await (await testPerson(gateway, bare, { isOperator: true })).get('/dashboard/operator/health')
  assert.doesNotMatch(page.html, /Rates by exchange/, 'fixed rates come from nobody')
})

test('the page has who runs, of which version and how short of disk, and what the signer lets out', async () => {
  await gateway.db.query(
    `insert into running_roles (instance, role, host, version, loop_lag_ms, disk_free_bytes, concerns)
     values (gen_random_uuid(), 'worker', 'one', '0.1.0', 7, 42000000000, '{}'),
       (gen_random_uuid(), 'worker', 'two', '0.2.0', 3, 5000000000, '{}')`,
  )
  const app = await testApp(gateway, { limits: readLimits('BTC=tx:1,day:20') })
  const operator = await testPerson(gateway, app, { isOperator: true })
  const { text } = await operator.get('/dashboard/operator/health')
  assert.match(text, /What runs .* worker .* 2 \S+( \w+)* 7 ms 5 GB 0\.1\.0 and 0\.2\.0/)
  assert.match(text, /Signer’s limits .* BTC 1 BTC no limit 20 BTC/)
})
