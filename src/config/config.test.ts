import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import test, { after } from 'node:test'
import { riskySettings } from '../cli/risky-settings.ts'
import { Refusal } from '../core/errors.ts'
import { readConfig } from './config.ts'
import { keepSecretKey, secretKeyFile } from './secret-key.ts'

const KEY = 'ab'.repeat(32)

test('without any variable the defaults of the README hold', () => {
  const config = readConfig({})
  assert.equal(config.port, 8080)
  assert.equal(config.dataDir, resolve('data'))
  assert.equal(config.databaseUrl, null)
  assert.deepEqual(config.nodes, { bitcoin: null, litecoin: null, ethereum: null })
  assert.deepEqual(config.rateLimit, { perSecond: 100, burst: 200 })
  assert.equal(config.settings.publicUrl, 'http://localhost:8080')
  assert.equal(config.settings.feeBps, 100n)
  assert.equal(config.settings.payoutFeeBps, 10n)
  assert.equal(config.settings.minFiatMinor, 50n)
  assert.equal(config.settings.maxFiatMinor, 100_000_000n)
  assert.equal(config.settings.webhookAllowPrivate, false)
  assert.equal(config.sandboxBlockMs, 5_000)
  assert.equal(config.fixedRates, null)
})

test('every variable is read', () => {
  const config = readConfig({
    PORT: '9000',
    BECK_PUBLIC_URL: 'https://pay.example.com/beck/',
    DATABASE_URL: 'postgres://beck:pw@db/beck',
    BECK_SECRET_KEY: KEY,
    REDIS_URL: 'redis://cache:6379',
    BITCOIN_RPC_URL: 'http://u:p@node:8332',
    LITECOIN_RPC_URL: 'http://u:p@node:19443',
    LITECOIN_NETWORK: 'regtest',
    ETHEREUM_RPC_URL: 'ws://node:8546',
    ETHEREUM_NETWORK: 'dev',
    USDC_CONTRACT: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
    BECK_RATES: 'fixed:BTC/USD=65000,EUR/USD=1.08',
    BECK_FEE_BPS: '0',
    BECK_MIN_FIAT: '1.50',
    BECK_MAX_FIAT: '20',
    BECK_CONFIRMATIONS: 'BTC=3, LTC=1',
    BECK_WEBHOOK_ALLOW_PRIVATE: '1',
    BECK_TRUST_PROXY: '10.0.0.0/8, ::1, loopback',
    BECK_RATE_LIMIT: '5',
    BECK_SIGNER_LIMITS: 'BTC=tx:1,hour:5,day:20',
    BECK_SANDBOX_BLOCK_MS: '0',
    BECK_PUBLIC_ULR: 'a slip',
  })
  assert.equal(config.settings.publicUrl, 'https://pay.example.com/beck')
  assert.deepEqual(config.secretKey, Buffer.from(KEY, 'hex'))
  assert.deepEqual(config.nodes, {
    bitcoin: { rpcUrl: 'http://u:p@node:8332', network: 'mainnet' },
    litecoin: { rpcUrl: 'http://u:p@node:19443', network: 'regtest' },
    ethereum: { rpcUrl: 'ws://node:8546', network: 'dev', wsUrl: null },
  })
  assert.equal(config.tokens.USDC, '0x5FbDB2315678afecb367f032d93F642f64180aa3')
  assert.equal(config.fixedRates, 'BTC/USD=65000,EUR/USD=1.08')
  assert.deepEqual(config.settings.confirmations, { BTC: 3, LTC: 1 })
  assert.equal(config.settings.minFiatMinor, 150n)
  assert.equal(config.trustProxy, '10.0.0.0/8,::1,loopback')
  assert.deepEqual(config.limits, { BTC: { tx: 100_000_000n, hour: 500_000_000n, day: 2_000_000_000n } })
  assert.deepEqual(config.unknownVariables, ['BECK_PUBLIC_ULR'])
})

test('what cannot be used is refused by name, all of it at once', () => {
  const wrong = {
    PORT: '0',
    BECK_PUBLIC_URL: 'pay.example.com',
    BITCOIN_NETWORK: 'main',
    ETHEREUM_NETWORK: 'goerli',
    USDT_CONTRACT: '0xdAC17F958D2ee523a2206206994597C13D831eC7',
    BECK_RATES: 'fixed:BTC/CHF=1',
    BECK_FEE_BPS: '10000',
    BECK_MIN_FIAT: '0.005',
    BECK_CONFIRMATIONS: 'BTC=0',
    BECK_WEBHOOK_ALLOW_PRIVATE: 'maybe',
    BECK_TRUST_PROXY: 'everybody',
    BECK_RATE_LIMIT: '1.5',
    BECK_SANDBOX_BLOCK_MS: '-1',
    BECK_LOG_LEVEL: 'loud',
    BECK_SIGNER_LIMITS: 'BTC=1',
    BECK_SIGNER_ALLOWLIST_HOURS: '1d',
  }
  assert.throws(
    () => readConfig(wrong),
    (error) => {
      assert.ok(error instanceof Refusal)
      for (const [name, value] of Object.entries(wrong)) {
        assert.ok(error.message.includes(`${name} is "${value}", expected `), `${name}: ${error.message}`)
      }
      return true
    },
  )
})

test('no message repeats a credential', () => {
  const secret = 'correct-horse'
  for (const name of [
    'DATABASE_URL',
    'REDIS_URL',
    'BITCOIN_RPC_URL',
    'LITECOIN_RPC_URL',
    'ETHEREUM_RPC_URL',
    'BECK_SECRET_KEY',
  ]) {
    assert.throws(
      () => readConfig({ [name]: `ftp://user:${secret}@host/${secret}` }),
      (error) => error instanceof Refusal && error.message.includes(name) && !error.message.includes(secret),
    )
  }
})

test('traces go to a plain URL with headers, and what is neither is refused by name', () => {
  const [endpoint, headers] = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_HEADERS'] as const
  const urlOf = (text: string) => readConfig({ [endpoint]: text }).traces?.url
  assert.equal(urlOf('http://c:4318'), 'http://c:4318/v1/traces')
  assert.equal(urlOf('https://c.example/otlp//'), 'https://c.example/otlp/v1/traces')
  assert.deepEqual(
    readConfig({ [endpoint]: 'http://c', [headers]: 'Authorization=Bearer%20s3cret, x-tenant=a=b' }).traces,
    {
      url: 'http://c/v1/traces',
      headers: { authorization: 'Bearer s3cret', 'x-tenant': 'a=b' },
      serviceName: 'beck',
    },
  )
  const wrong = {
    [endpoint]: ['c:4318', 'ftp://c', 'http://c:4318?tenant=a', 'http://c/#a', 'http://u@c', 'http://:pw@c'],
    [headers]: ['a=%E0%A4%A', 'a=%', 'a=b%0d%0ahost:c', 'a=%E2%82%AC', 'a', 'a=', '=b', 'a=b,', 'a b=c'],
  }
  for (const [name, texts] of Object.entries(wrong))
    for (const text of texts)
      assert.throws(
        () => readConfig({ [name]: text }),
        (error) =>
          error instanceof Refusal &&
          error.message.includes(
            `${name} is a text of ${text.length} characters that is not shown, expected `,
          ),
        text,
      )
})

test('what is dangerous with real money is told', () => {
  const closed = { BECK_RATES: 'fixed:BTC/USD=65000', BECK_WEBHOOK_ALLOW_PRIVATE: '1' }
  const node = { BITCOIN_RPC_URL: 'http://u:p@node:8332' }
  const risks = (env: Record<string, string>) => riskySettings(readConfig(env)).map(({ message }) => message)
  assert.deepEqual(risks({ ...closed, ...node, BITCOIN_NETWORK: 'regtest' }), [])
  assert.deepEqual(risks({ ...node, BECK_TRUST_PROXY: '10.0.0.0/8' }), [])
  const [rates, webhooks, proxy, ...others] = risks({ ...closed, ...node, BECK_TRUST_PROXY: '::1,0.0.0.0/0' })
  assert.match(rates ?? '', /BECK_RATES/)
  assert.match(webhooks ?? '', /BECK_WEBHOOK_ALLOW_PRIVATE/)
  assert.match(proxy ?? '', /BECK_TRUST_PROXY/)
  assert.deepEqual(others, [])
})

test('an external database needs a secret key that outlives this machine', () => {
  assert.throws(
    () => readConfig({ DATABASE_URL: 'postgres://db/beck' }),
    /BECK_SECRET_KEY is not set, and is required/,
  )
})

test('the data directory keeps one secret key, for its owner only, whoever asks first', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'beck-key-'))
  after(() => rm(parent, { recursive: true }))
  const dataDir = join(parent, 'data')
  const keys = await Promise.all([keepSecretKey(dataDir), keepSecretKey(dataDir)])
  assert.deepEqual(keys[0], keys[1])
  assert.deepEqual(await keepSecretKey(dataDir), keys[0])
  assert.equal((await stat(secretKeyFile(dataDir))).mode & 0o777, 0o600)
  assert.match(await readFile(secretKeyFile(dataDir), 'utf8'), /^[0-9a-f]{64}\n$/)
  await writeFile(secretKeyFile(dataDir), '')
  await assert.rejects(keepSecretKey(dataDir), /restore it from a backup/)
})
