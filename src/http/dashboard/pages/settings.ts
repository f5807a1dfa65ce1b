/** How a merchant and this account of his are set. */
import type { Account } from '../../../accounts/account.ts'
import { hasPayments, lockAccount } from '../../../accounts/accounts.sql.ts'
import type { Facts } from '../../../audit/act.ts'
import { ASSETS } from '../../../core/assets.ts'
import { invalidField } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { FIAT_DECIMALS, parseDecimal } from '../../../core/money.ts'
import { type AccountChanges, changeAccount } from '../../../flows/accounts/change-account.ts'
import { confirmationsOf } from '../../../flows/gateway.ts'
import { changeBusiness, goLive } from '../../../flows/people/merchants.ts'
import { findMerchant } from '../../../users/merchants.sql.ts'
import { html } from '../../hosted/html.ts'
import { change } from '../change.ts'
import { FIAT_CHOICES, formProblem, notice, select, submit } from '../parts.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { isTimeZone } from '../words.ts'
import {
  accountCard,
  brandCard,
  businessCard,
  checkoutCard,
  confirmationsCard,
  currencyCard,
  logoCard,
  mailsCard,
  paymentsCard,
} from './settings-cards.ts'

async function settingsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place } = call
  const [merchant, isFixed] = await Promise.all([
    findMerchant(gateway.db, place.membership.merchantId),
    hasPayments(gateway.db, place.account.id),
  ])
  return {
    title: 'Settings',
    nav: 'settings',
    content: html`<h1>Settings</h1>${formProblem(call)}<div class="columns"><div>${businessCard(call, merchant)}${currencyCard(call, isFixed)}${paymentsCard(call)}${confirmationsCard(call)}</div><div>${checkoutCard(call)}${brandCard(call)}${logoCard(call)}${mailsCard(call)}${accountCard(call)}</div></div>`,
  }
}

const orNull = (text: string) => (text === '' ? null : text)

async function goLivePage(call: PlaceCall): Promise<Sheet> {
  return {
    title: 'Go live',
    nav: 'settings',
    width: 'narrow',
    content: html`<h1>Go live</h1>${formProblem(call)}<p class="lead">A second account for real coins, beside this one. Its keys begin with <code>bk_live_</code>; nothing of the test account moves over.</p>${
      call.session.factor === 'password'
        ? notice(
            'wait',
            html`<p>Nothing live opens without a second factor. <a href="${call.base}/me">Add a passkey or an authenticator app</a> first.</p>`,
          )
        : html`<form method="post" action="${call.here}/go-live">${select(call, { name: 'currency', label: 'Settlement currency', choices: FIAT_CHOICES, value: call.place.account.currency, hint: 'What sales and customers’ totals are kept in. It stays once there is a payment.' })}${submit('Make the live account')}</form>`
    }`,
  }
}

/** What a card of the settings sends; they are shown again with what was saved. */
const settingRow = (path: string, save: (call: PlaceCall) => Promise<unknown>): DashboardRow =>
  placeRow('settings:write', `POST /:account/settings/${path}`, {
    confirm: 'recent',
    async handle(call) {
      await save(call)
      return { to: `${call.here}/settings`, done: 'saved' }
    },
    redraw: settingsPage,
  })

export const settingsRows: readonly DashboardRow[] = [
  placeRow('settings:read', 'GET /:account/settings', { handle: settingsPage }),
  settingRow('business', (call) => {
    const zone = call.form.get('time_zone')
    return call.gateway.db.transaction((tx) =>
      changeBusiness(tx, call.person, call.place.membership.merchantId, call.place.account.id, {
        name: call.form.get('name'),
        timeZone: isTimeZone(zone) ? zone : null,
        refundBoundMinor: parseDecimal(call.form.get('refund_bound'), FIAT_DECIMALS),
      }),
    )
  }),
  settingRow('checkout', (call) => {
    const { form } = call
    const given = (name: string) => (form.has(name) ? orNull(form.get(name)) : undefined)
    return changeSettings(call, {
      successUrl: orNull(form.get('success_url')),
      cancelUrl: orNull(form.get('cancel_url')),
      frameOrigins: form
        .get('frame_origins')
        .split(',')
        .filter((each) => each.trim() !== ''),
      // A page that was open over an upgrade sends a form without them: they stay as they are.
      contact: given('contact'),
      termsUrl: given('terms_url'),
      privacyUrl: given('privacy_url'),
    })
  }),
  settingRow('currency', (call) => changeSettings(call, { currency: call.form.get('currency') })),
  settingRow('payments', (call) => {
    const { form } = call
    const coins = form.all('coins')
    return changeSettings(call, {
      offeredAssets: ASSETS.every((asset) => coins.includes(asset)) ? null : coins,
      tolerance: form.get('tolerance'),
      acceptsLateFunds: form.all('late').includes('accept'),
    })
  }),
  settingRow('confirmations', (call) =>
    changeSettings(call, {
      confirmations: ASSETS.map((asset) => ({
        asset,
        from: call.form.get(`from_${asset}`),
        confirmations: call.form.get(`confirmations_${asset}`),
        usual: confirmationsOf(call.gateway.settings, asset),
      })).filter(({ from, confirmations }) => from !== '' || confirmations !== ''),
    }),
  ),
  settingRow('brand', (call) =>
    changeSettings(call, {
      brandName: orNull(call.form.get('brand_name')),
      brandColor: orNull(call.form.get('brand_color')),
    }),
  ),
  settingRow('logo', (call) => changeLogo(call, Buffer.from(call.form.get('logo'), 'base64'))),
  settingRow('logo/remove', (call) => changeLogo(call, null)),
  placeRow('ownership:write', 'GET /:account/go-live', { handle: goLivePage }),
  placeRow('ownership:write', 'POST /:account/go-live', {
    confirm: 'recent',
    async handle(call) {
      if (call.session.factor === 'password')
        throw invalidField('factor', 'second_factor_required', 'add a second factor before you go live')
      const live = await call.gateway.db.transaction((tx) =>
        goLive(tx, call.person, call.place.membership.merchantId, call.form.get('currency') || undefined),
      )
      return { to: `${call.base}/${showId('acct', live)}`, done: 'live' }
    },
    redraw: goLivePage,
  }),
]

async function changeSettings(call: PlaceCall, changes: AccountChanges): Promise<void> {
  await change(call, async (tx, record) => {
    const { id } = call.place.account
    const before = await lockAccount(tx, id)
    const after = await changeAccount(tx, id, changes)
    record({
      action: 'account.change',
      subject: showId('acct', id),
      before: before && settingsOf(before, changes),
      after: settingsOf(after, changes),
    })
  })
}

/** Of what was to be changed, how it is. */
const settingsOf = (account: Account, changes: AccountChanges): Facts => {
  const all: Readonly<Record<keyof AccountChanges, Facts[string]>> = {
    ...account,
    logo: account.brandLogo,
    tolerance: account.toleranceBps,
    fee: account.feeBps,
    confirmations: account.confirmationRules.map(
      ({ asset, fromMinor, confirmations }) => `${asset} from ${fromMinor}: ${confirmations}`,
    ),
  }
  const named = Object.entries(changes).flatMap(([name, to]) => (to === undefined ? [] : [name]))
  return Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => named.includes(name))
      .map(([name, value]) => [snake(name), value]),
  )
}

/** The log says which picture, not its bytes. */
async function changeLogo(call: PlaceCall, logo: Uint8Array | null): Promise<void> {
  const { account } = call.place
  await change(call, async (tx, record) => {
    const after = await changeAccount(tx, account.id, { logo })
    record({
      action: 'account.change',
      subject: showId('acct', account.id),
      before: { brand_logo: account.brandLogo },
      after: { brand_logo: after.brandLogo },
    })
  })
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
