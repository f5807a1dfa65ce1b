import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { testDatabase } from '../../test/database.ts'
import { testAccount } from '../../test/gateway.ts'
import { type AccountId, newId, type WebhookEndpointId } from '../core/ids.ts'
import { openSecrets } from '../core/secrets.ts'
import { announce } from './announce.sql.ts'
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  disableWebhookEndpoint,
  enableWebhookEndpoint,
  findWebhookEndpoint,
  openWebhookSecret,
  rotateWebhookSecret,
} from './webhook-endpoints.sql.ts'

const db = await testDatabase()
const secrets = openSecrets(randomBytes(32))
const { id: account } = await testAccount({ db })
const { id: stranger } = await testAccount({ db })
const url = 'https://shop.example/hook'

const create = () =>
  db.transaction((tx) =>
    createWebhookEndpoint(tx, secrets, {
      accountId: account,
      url,
      events: ['payment.completed', 'payment.created', 'payment.completed'],
    }),
  )

async function sealedOf(id: WebhookEndpointId) {
  const { rows } = await db.query<{ current: Buffer; previous: Buffer | null }>(
    'select secret_sealed as current, previous_secret_sealed as previous from webhook_endpoints where id = $1',
    [id],
  )
  assert.ok(rows[0])
  return rows[0]
}

const shown = (secret: Buffer) => `whsec_${secret.toString('base64')}`

test('an endpoint is found as it was made, by its own account only', async () => {
  const { endpoint, secret } = await create()
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(endpoint.url, url)
  assert.deepEqual(endpoint.events, ['payment.completed', 'payment.created'])
  assert.equal(endpoint.isActive, true)
  assert.deepEqual(await findWebhookEndpoint(db, account, endpoint.id), endpoint)
  assert.equal(await findWebhookEndpoint(db, stranger, endpoint.id), null)
})

test('the secret rests sealed, and opens for its own endpoint only', async () => {
  const { endpoint, secret } = await create()
  const { current } = await sealedOf(endpoint.id)
  assert.equal(current.includes(Buffer.from(secret.slice(6), 'base64')), false)
  assert.equal(shown(openWebhookSecret(secrets, endpoint.id, current)), secret)
  assert.throws(() => openWebhookSecret(secrets, newId('whk'), current))
})

test('a rotation keeps the old secret for a day, and a second one ends the oldest', async () => {
  const { endpoint, secret: first } = await create()
  const second = await db.transaction((tx) => rotateWebhookSecret(tx, secrets, account, endpoint.id))
  assert.ok(second && second.secret !== first)
  assert.ok(Math.abs(second.previousSecretUntil.getTime() - Date.now() - 24 * 3_600_000) < 60_000)
  const sealed = await sealedOf(endpoint.id)
  assert.equal(shown(openWebhookSecret(secrets, endpoint.id, sealed.current)), second.secret)
  assert.equal(shown(openWebhookSecret(secrets, endpoint.id, sealed.previous ?? Buffer.alloc(0))), first)

  await db.transaction((tx) => rotateWebhookSecret(tx, secrets, account, endpoint.id))
  const later = await sealedOf(endpoint.id)
  assert.equal(
    shown(openWebhookSecret(secrets, endpoint.id, later.previous ?? Buffer.alloc(0))),
    second.secret,
  )
  assert.equal(await db.transaction((tx) => rotateWebhookSecret(tx, secrets, stranger, endpoint.id)), null)
})

test('a deleted endpoint is gone, and what waited for it is cancelled', async () => {
  const { endpoint } = await create()
  const announcement = {
    accountId: account,
    type: 'payment.created',
    cause: 'payment:1:created',
    data: {},
  } as const
  await db.transaction((tx) => announce(tx, announcement))
  const deleted = (of: AccountId) => db.transaction((tx) => deleteWebhookEndpoint(tx, of, endpoint.id))
  assert.equal(await deleted(stranger), null)
  assert.equal((await deleted(account))?.id, endpoint.id)
  assert.equal(await deleted(account), null)
  assert.equal(await findWebhookEndpoint(db, account, endpoint.id), null)
  const { rows } = await db.query<{ status: string }>(
    'select status from deliveries where endpoint_id = $1',
    [endpoint.id],
  )
  assert.deepEqual(rows, [{ status: 'cancelled' }])
})

test('a disabled endpoint says why, and can be enabled again', async () => {
  const { endpoint } = await create()
  await db.transaction((tx) => disableWebhookEndpoint(tx, account, endpoint.id, 'gone'))
  const disabled = await findWebhookEndpoint(db, account, endpoint.id)
  assert.deepEqual(disabled, { ...endpoint, isActive: false, disabledReason: 'gone' })
  assert.equal(await db.transaction((tx) => enableWebhookEndpoint(tx, stranger, endpoint.id)), null)
  assert.deepEqual(await db.transaction((tx) => enableWebhookEndpoint(tx, account, endpoint.id)), endpoint)
})
