/** Coming in, one's own sign-in, and what the operator does. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { Account } from '../../src/accounts/account.ts'
import { raiseAlert } from '../../src/alerts/alerts.sql.ts'
import { newId, newRowId, showId } from '../../src/core/ids.ts'
import { closeAccount } from '../../src/flows/accounts/close-account.ts'
import { goLive, merchantOfAccount } from '../../src/flows/people/merchants.ts'
import { requestOwnPayout } from '../../src/flows/withdrawals/request-own-payout.ts'
import { replaceRecoveryCodes } from '../../src/users/factors.sql.ts'
import { insertInvitation } from '../../src/users/invitations.sql.ts'
import { hashRecoveryCode, newRecoveryCodes } from '../../src/users/recovery-code.ts'
import { insertSession } from '../../src/users/sessions.sql.ts'
import { codeOf } from '../dashboard.ts'
import { testAccount } from '../gateway.ts'
import { DESTINATIONS } from '../payout-story.ts'
import { type Actor, PASSWORD } from './actor.ts'
import type { Scene } from './scene.ts'
import type { Press, Stories, Story } from './story.ts'

const ME = '/dashboard/me'
const SIGN_IN = '/dashboard/sign-in'

export const DOOR_STORIES: Stories = {
  'POST /forgotten': {
    isSignedOut: true,
    open: async (_scene, { email }) => ({
      page: '/dashboard/forgotten',
      action: '/dashboard/forgotten',
      fields: { email },
      seen: 'a mail with a link is on its way',
    }),
  },
  'POST /sign-in': {
    isSignedOut: true,
    open: async (_scene, { email }) => ({
      page: `${SIGN_IN}?next=/dashboard/me`,
      action: SIGN_IN,
      fields: { email, password: PASSWORD },
      seen: 'Where you are signed in',
    }),
  },
  'POST /sign-in/options': { heardWith: 'POST /sign-in/passkey' },
  'POST /sign-in/passkey': {
    isSignedOut: true,
    hasPasskey: true,
    open: async () => ({
      page: `${SIGN_IN}?next=/dashboard/me`,
      action: `${SIGN_IN}/passkey`,
      seen: 'Where you are signed in',
    }),
  },
  'POST /sign-in/factor': {
    async open({ db, passkey, transact }, { userId }) {
      await passkey(userId)
      const [code = ''] = newRecoveryCodes()
      await transact((tx) => replaceRecoveryCodes(tx, userId, [hashRecoveryCode(code)]))
      await db.query(`update sessions set factor = 'half' where user_id = $1`, [userId])
      const page = `${SIGN_IN}/factor?next=/dashboard/me`
      return {
        page,
        action: `${SIGN_IN}/factor`,
        button: 'Sign in',
        fields: { code },
        seen: 'Where you are signed in',
      }
    },
  },
  'POST /sign-out': {
    open: async () => ({
      page: ME,
      action: '/dashboard/sign-out',
      button: 'Sign out',
      seen: 'You are signed out.',
    }),
  },
  'POST /join/:token': {
    isSignedOut: true,
    open: join('Continue with a password', { password: PASSWORD }, 'Add a second factor.'),
  },
  'POST /join/:token/options': {
    isSignedOut: true,
    hasPasskey: true,
    open: join('Continue with a passkey', {}, 'Keep these codes'),
  },
}

function join(button: string, fields: Record<string, string>, seen: string): Story['open'] {
  return async ({ db }) => {
    const { token } = await insertInvitation(db, {
      kind: 'invite',
      email: `${newId('usr')}@example.com`,
      merchantId: null,
      role: null,
      makesOperator: true,
      userId: null,
      invitedBy: null,
    })
    const path = `/dashboard/join/${token}`
    return { page: path, action: path, button, fields: { name: 'Grace Hopper', ...fields }, seen }
  }
}

/** On the page of one's own sign-in. */
const onMe = (
  name: string,
  seen: string,
  more: Partial<Press> = {},
  before?: (scene: Scene, actor: Actor) => Promise<unknown>,
): Story => ({
  async open(scene, actor) {
    await before?.(scene, actor)
    return { page: ME, action: `${ME}/${name}`, seen, ...more }
  },
})

const withPasskey = ({ passkey }: Scene, { userId }: Actor) => passkey(userId)

const readCode = async (page: Page) => {
  const secret = await page.locator('ol.steps code').first().innerText()
  return { code: codeOf(secret.trim()) }
}

export const PERSON_STORIES: Stories = {
  // Of tests nobody is mailed: it is asked of merchants that are live.
  'POST /me/mails': onMe(
    'mails',
    'Saved.',
    { fields: { mails: true } },
    async ({ shop, transact }, { userId, email }) => {
      const { account } = await shop({ userId, role: 'finance' })
      const person = { userId, email, name: '', sessionId: null, address: '' }
      await transact(async (tx) => goLive(tx, person, (await merchantOfAccount(tx, account)).id))
    },
  ),
  'POST /me/name': onMe('name', 'Saved.', { fields: { name: 'Grace Hopper' } }),
  'POST /me/password': onMe('password', 'The password is changed', {
    fields: { password: 'four grey herons' },
  }),
  'POST /me/passkeys': {
    hasPasskey: true,
    open: async () => ({
      page: `${ME}/passkeys`,
      action: `${ME}/passkeys`,
      fields: { name: 'Phone' },
      seen: 'Keep these codes',
    }),
  },
  'POST /me/passkeys/options': { heardWith: 'POST /me/passkeys' },
  'POST /me/passkeys/:id/remove': {
    async open({ passkey }, { userId }) {
      // The last one stays.
      await passkey(userId)
      return { page: ME, action: `${ME}/passkeys/${await passkey(userId)}/remove`, seen: 'It is removed' }
    },
  },
  'POST /me/recovery-codes': onMe('recovery-codes', 'Keep these codes', {}, withPasskey),
  'POST /me/sessions/:id/end': {
    async open({ db, transact }, { userId }) {
      const draft = {
        userId,
        factor: 'passkey',
        isSteppedUp: false,
        address: '127.0.0.1',
        agent: 'Firefox',
      } as const
      await transact((tx) => insertSession(tx, draft))
      const { rows } = await db.query<{ id: Parameters<typeof showId<'ses'>>[1] }>(
        `select id from sessions where user_id = $1 and agent = 'Firefox'`,
        [userId],
      )
      assert.ok(rows[0])
      const action = `${ME}/sessions/${showId('ses', rows[0].id)}/end`
      return { page: ME, action, seen: 'The session is ended.' }
    },
  },
  'POST /me/totp': {
    open: async () => ({
      page: `${ME}/totp`,
      action: `${ME}/totp`,
      fields: readCode,
      seen: 'Keep these codes',
    }),
  },
  'POST /me/totp/remove': {
    async open({ passkey }, { userId }) {
      // The last factor stays.
      await passkey(userId)
      const first: Press = {
        page: `${ME}/totp`,
        action: `${ME}/totp`,
        fields: readCode,
        seen: /Keep these codes|Saved/,
      }
      return { first, page: ME, action: `${ME}/totp/remove`, seen: 'It is removed' }
    },
  },
  'POST /step-up': {
    open: async () => ({
      page: '/dashboard/step-up?next=/dashboard/me',
      action: '/dashboard/step-up',
      fields: { code: PASSWORD },
      seen: 'Where you are signed in',
    }),
  },
}

const DESTINATION = DESTINATIONS['sim-bitcoin']
const OWN = { kind: 'fees', mode: 'test', asset: 'BTC', amount: '0.0005', destination: DESTINATION } as const
const MONEY = '/dashboard/operator/money'

const MERCHANTS = '/dashboard/operator/merchants'
const actionOn = ({ id }: Account, act: 'close' | 'reopen') =>
  `/dashboard/operator/accounts/${showId('acct', id)}/${act}`

export const OPERATOR_STORIES: Stories = {
  'POST /operator/accounts/:id/close': {
    async open({ gateway }) {
      const action = actionOn(await testAccount(gateway), 'close')
      return { page: MERCHANTS, action, seen: 'The account is closed.' }
    },
  },
  'POST /operator/accounts/:id/reopen': {
    async open({ gateway, transact }) {
      const account = await testAccount(gateway)
      await transact((tx) => closeAccount(tx, account.id, 'close'))
      return { page: MERCHANTS, action: actionOn(account, 'reopen'), seen: 'The account is open again.' }
    },
  },
  'POST /operator/alerts/:id/acknowledge': {
    async open({ db }) {
      const subject = newRowId()
      await raiseAlert(db, { kind: 'frozen', accountId: null, subject, message: 'they differ' })
      const { rows } = await db.query<{ id: string }>('select id from alerts where subject = $1', [subject])
      const page = '/dashboard/operator/alerts'
      return { page, action: `${page}/${rows[0]?.id}/acknowledge`, seen: 'Acknowledged.' }
    },
  },
  'POST /operator/merchants': {
    open: async () => ({
      page: '/dashboard/operator/merchants',
      action: '/dashboard/operator/merchants',
      fields: { name: 'Bookshop', email: 'books@example.com' },
      seen: 'Overview',
    }),
  },
  'POST /operator/money/fees': {
    open: async () => ({ page: MONEY, action: `${MONEY}/fees`, fields: { fee: '0.5' }, seen: 'Saved.' }),
  },
  'POST /operator/money/pay-outs': {
    open: async () => ({
      page: MONEY,
      action: `${MONEY}/pay-outs`,
      fields: { amount: '0.0005', destination_address: DESTINATION },
      seen: 'The withdrawal is on its way.',
    }),
  },
  'POST /operator/money/pay-outs/:id/cancel': {
    async open({ gateway, transact }) {
      const { id } = await transact((tx) => requestOwnPayout(gateway, tx, OWN))
      return { page: MONEY, action: `${MONEY}/pay-outs/${showId('wd', id)}/cancel`, seen: 'It is cancelled' }
    },
  },
}
