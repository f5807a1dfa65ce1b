/** What is set, who may do what, and what programs are let in with. Each press has a merchant of its own. */
import { newId, showId } from '../../src/core/ids.ts'
import { changeAccount } from '../../src/flows/accounts/change-account.ts'
import { merchantOfAccount } from '../../src/flows/people/merchants.ts'
import { listPasskeys } from '../../src/users/factors.sql.ts'
import { insertInvitation } from '../../src/users/invitations.sql.ts'
import { pinApprover, publishAddress, publishPolicy } from '../approvals.ts'
import { testPayment } from '../gateway.ts'
import { DESTINATIONS } from '../payout-story.ts'
import type { Actor } from './actor.ts'
import type { Scene, Shop } from './scene.ts'
import type { Fields, Press, Stories, Story } from './story.ts'

/** In a merchant of the actor's own. */
const inShop = (open: (shop: Shop, scene: Scene, actor: Actor) => Promise<Press>): Story => ({
  open: async (scene, actor) => open(await scene.shop(actor), scene, actor),
})

const setting = (name: string, fields: Fields, button?: string): Story =>
  inShop(async ({ home }) => ({
    page: `${home}/settings`,
    action: `${home}/settings/${name}`,
    fields,
    seen: 'Saved.',
    ...(button ? { button } : {}),
  }))

const LOGO = Buffer.from('89504e470d0a1a0a', 'hex')

export const SETTING_STORIES: Stories = {
  'POST /:account/settings/business': setting('business', { name: 'Tea & Co', refund_bound: '250' }),
  'POST /:account/settings/checkout': setting('checkout', { contact: 'help@shop.example' }),
  'POST /:account/settings/currency': setting('currency', { currency: 'EUR' }),
  'POST /:account/settings/payments': setting('payments', { tolerance: '1.5', late: true }),
  'POST /:account/settings/confirmations': setting('confirmations', {
    from_BTC: '1000',
    confirmations_BTC: '9',
  }),
  'POST /:account/settings/brand': setting('brand', { brand_name: 'Tea & Co', brand_color: '#0a7a3c' }),
  'POST /:account/settings/logo': setting('logo', {
    logo: { name: 'logo.png', mimeType: 'image/png', buffer: LOGO },
  }),
  'POST /:account/settings/logo/remove': inShop(async ({ home, account }, { transact }) => {
    await transact((tx) => changeAccount(tx, account.id, { logo: LOGO }))
    return {
      page: `${home}/settings`,
      action: `${home}/settings/logo/remove`,
      seen: 'None yet: the checkout shows',
    }
  }),
  'POST /:account/go-live': inShop(async ({ home }) => ({
    page: `${home}/go-live`,
    action: `${home}/go-live`,
    fields: { currency: 'GBP' },
    seen: 'This is your live account.',
  })),
}

export const PROGRAM_STORIES: Stories = {
  'POST /:account/keys': inShop(async ({ home }) => ({
    page: `${home}/keys/new`,
    action: `${home}/keys`,
    fields: { name: 'Shop server' },
    seen: /Your new key.*bk_test_/s,
  })),
  'POST /:account/keys/:id/roll': inShop(async ({ home, account }, { key }) => {
    const page = `${home}/keys/${showId('key', (await key(account.id)).id)}/roll`
    return { page, action: page, seen: /Your new key.*bk_test_/s }
  }),
  'POST /:account/keys/:id/revoke': inShop(async ({ home, account }, { key }) => ({
    page: `${home}/keys`,
    action: `${home}/keys/${showId('key', (await key(account.id)).id)}/revoke`,
    seen: 'The key is revoked.',
  })),
  'POST /:account/webhooks': inShop(async ({ home }) => ({
    page: `${home}/webhooks/new`,
    action: `${home}/webhooks`,
    fields: { url: 'https://shop.example/hooks/beck' },
    seen: 'The signing secret',
  })),
  ...onEndpoint({
    rotate: ['Rotate the secret', 'The signing secret'],
    delete: ['Delete', 'The endpoint is deleted.'],
    enable: ['Send again from now on', 'The endpoint receives events again.'],
    newest: ['Send the newest event', 'It is being sent again.'],
    test: ['Send a test', 'The test is on its way.'],
    recover: ['Send', 'It missed nothing since then.'],
  }),
  'POST /:account/webhooks/:id/deliveries/:delivery/send': inShop(async ({ home, account }, scene) => {
    const endpoint = await scene.endpoint(account.id)
    await testPayment(scene.gateway, account)
    const { rows } = await scene.db.query<{ id: Parameters<typeof showId<'dlv'>>[1] }>(
      'select id from deliveries where account_id = $1',
      [account.id],
    )
    const page = `${home}/webhooks/${endpoint}`
    const delivery = rows[0] ? showId('dlv', rows[0].id) : ''
    return { page, action: `${page}/deliveries/${delivery}/send`, seen: 'It is being sent again.' }
  }),
}

/** Buttons on the page of an endpoint, with what is seen then. */
function onEndpoint(buttons: Readonly<Record<string, readonly [button: string, seen: string]>>): Stories {
  const story = (name: string, button: string, seen: string) =>
    inShop(async ({ home, account }, scene) => {
      const endpoint = await scene.endpoint(account.id)
      await testPayment(scene.gateway, account)
      if (name === 'enable')
        await scene.db.query(
          `update webhook_endpoints set is_active = false, disabled_reason = 'failing' where account_id = $1`,
          [account.id],
        )
      const page = `${home}/webhooks/${endpoint}`
      return { page, action: `${page}/${name}`, button, seen }
    })
  return Object.fromEntries(
    Object.entries(buttons).map(([name, [button, seen]]) => [
      `POST /:account/webhooks/:id/${name}`,
      story(name, button, seen),
    ]),
  )
}

/** A colleague of the actor's. */
const onMember = (open: (path: string) => Omit<Press, 'page'>): Story =>
  inShop(async ({ home, account }, { person }) => {
    const { userId } = await person('viewer', account)
    return { page: `${home}/team`, ...open(`${home}/team/${showId('usr', userId)}`) }
  })

export const TEAM_STORIES: Stories = {
  'POST /:account/team': inShop(async ({ home }) => ({
    page: `${home}/team`,
    action: `${home}/team`,
    fields: { email: `${newId('usr')}@example.com`, role: 'support' },
    seen: 'A mail with the link is on its way.',
  })),
  'POST /:account/team/:user': onMember((path) => ({
    action: path,
    fields: { role: 'finance' },
    seen: 'The role is changed.',
  })),
  'POST /:account/team/:user/reset': onMember((path) => ({
    action: `${path}/reset`,
    seen: 'A mail with the link is on its way.',
  })),
  'POST /:account/team/:user/remove': onMember((path) => ({
    action: `${path}/remove`,
    seen: 'The member is removed, and signed out everywhere.',
  })),
  'POST /:account/team/invitations/:id/withdraw': inShop(
    async ({ home, account }, { transact, db }, { userId }) => {
      const merchant = await transact((tx) => merchantOfAccount(tx, account))
      const { id } = await insertInvitation(db, {
        kind: 'invite',
        email: 'new@example.com',
        merchantId: merchant.id,
        role: 'viewer',
        makesOperator: false,
        userId: null,
        invitedBy: userId,
      })
      const action = `${home}/team/invitations/${showId('inv', id)}/withdraw`
      return { page: `${home}/team`, action, seen: 'The invitation is taken back.' }
    },
  ),
}

const DESTINATION = DESTINATIONS['sim-bitcoin']

/** With a policy in force, and one address on the allowlist where it is wanted. */
async function guarded({ db }: Scene, { account }: Shop, address?: string): Promise<void> {
  await publishPolicy(db, account.id)
  if (address) await publishAddress(db, account.id, { network: 'bitcoin', address, name: 'Cold' })
}

export const APPROVAL_STORIES: Stories = {
  'POST /:account/policy': inShop(async ({ home, account }, scene, { userId }) => {
    const others = [await scene.person('finance', account), await scene.person('owner', account)]
    for (const each of [userId, ...others.map((other) => other.userId)])
      await pinApprover(scene.db, account.id, each)
    return {
      page: `${home}/policy`,
      action: `${home}/policy`,
      fields: { from_BTC: '0.5' },
      seen: 'It is asked for.',
    }
  }),
  'POST /:account/allowlist': inShop(async (shop, scene) => {
    await guarded(scene, shop)
    return {
      page: `${shop.home}/allowlist`,
      action: `${shop.home}/allowlist`,
      fields: { name: 'Cold wallet', destination_address: DESTINATION },
      seen: 'It is asked for.',
    }
  }),
  'POST /:account/allowlist/remove': inShop(async (shop, scene) => {
    await guarded(scene, shop, DESTINATION)
    return {
      page: `${shop.home}/allowlist`,
      action: `${shop.home}/allowlist/remove`,
      seen: 'It is asked for.',
    }
  }),
  'POST /:account/approvals/:id/decline': inShop(async ({ home, account }, { policyRequest }) => {
    const page = `${home}/approvals/${await policyRequest(account)}`
    return { page, action: `${page}/decline`, seen: 'Declined. Nothing of it is done.' }
  }),
  'POST /:account/approvals/:id/approve': {
    isAlone: true,
    hasPasskey: true,
    async open(scene, actor) {
      const { home, account } = await scene.shop(actor)
      const page = `${home}/approvals/${await scene.policyRequest(account)}`
      const [passkey] = await listPasskeys(scene.db, actor.userId)
      await scene.db.query(
        `insert into pinned_approvers (account_id, credential_id, user_id, name, fingerprint, pinned_at, counts_from)
         select $1, $2, $3, 'Somebody', encode(substring($2::bytea from 1 for 20), 'hex'), now(), now() - interval '1 hour'
         where $2 is not null`,
        [account.id, passkey?.credentialId ?? null, actor.userId],
      )
      return { page, action: `${page}/approve`, seen: 'Your approval is given.' }
    },
  },
}
