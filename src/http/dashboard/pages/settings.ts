/** How a merchant and this account of his are set. */
import { FIAT_CURRENCIES } from '../../../core/assets.ts'
import { invalidField } from '../../../core/errors.ts'
import { showId } from '../../../core/ids.ts'
import { FIAT_DECIMALS, formatDecimal, parseDecimal } from '../../../core/money.ts'
import { changeAccount } from '../../../flows/accounts/change-account.ts'
import { changeBusiness, goLive } from '../../../flows/people/merchants.ts'
import { findMerchant } from '../../../users/merchants.sql.ts'
import { type Html, html } from '../../hosted/html.ts'
import { logoPath } from '../../hosted/serve-web-files.ts'
import { change } from '../change.ts'
import { button, card, checks, copyable, facts, field, formProblem, notice, submit } from '../parts.ts'
import { rootOf } from '../root.ts'
import { type DashboardRow, type PlaceCall, placeRow, type Sheet } from '../row.ts'
import { isTimeZone } from '../words.ts'

async function settingsPage(call: PlaceCall): Promise<Sheet> {
  const { gateway, place, here } = call
  const { account } = place
  const merchant = await findMerchant(gateway.db, place.membership.merchantId)
  const mayWrite = call.may('settings:write')
  const form = (path: string, content: Parameters<typeof card>[1]) =>
    mayWrite
      ? html`<form method="post" action="${here}/settings/${path}"><fieldset>${content}</fieldset>${submit('Save')}</form>`
      : html`<fieldset disabled>${content}</fieldset>`
  return {
    title: 'Settings',
    nav: 'settings',
    content: html`<h1>Settings</h1>${formProblem(call)}<div class="columns"><div>
${card(
  'Business',
  form(
    'business',
    html`${field(call, { name: 'name', label: 'Name', value: merchant?.name ?? '', required: true, maxlength: 255 })}${field(call, { name: 'time_zone', label: 'Time zone', value: merchant?.timeZone ?? 'UTC', required: true, maxlength: 60, hint: 'Whose days lists and sums have, such as Europe/Berlin.' })}${field(call, { name: 'refund_bound', label: 'Support refunds up to', value: formatDecimal(merchant?.refundBoundMinor ?? 0n, FIAT_DECIMALS), required: true, inputmode: 'decimal', hint: 'One refund, in the payment’s own currency. 0 leaves refunds to others.' })}`,
  ),
)}
${card(
  'Checkout',
  form(
    'checkout',
    html`${field(call, { name: 'success_url', label: 'After paying, buyers go to', type: 'url', value: account.successUrl, maxlength: 2_048 })}${field(call, { name: 'cancel_url', label: 'After cancelling, to', type: 'url', value: account.cancelUrl, maxlength: 2_048 })}${field(call, { name: 'frame_origins', label: 'Sites that may frame the checkout', value: account.frameOrigins.join(', '), hint: 'Separated by commas, such as https://shop.example.' })}${checks(call, { name: 'late', legend: 'Late funds', choices: [['accept', 'Accept them without asking within 24 hours, when their value covers the price']], checked: account.acceptsLateFunds ? ['accept'] : [] })}`,
  ),
)}</div><div>
${card(
  'Brand',
  form(
    'brand',
    html`${field(call, { name: 'brand_name', label: 'Name on the checkout', value: account.brandName, maxlength: 80, placeholder: account.name })}${field(call, { name: 'brand_color', label: 'Colour', value: account.brandColor, maxlength: 7, placeholder: '#2c52d0', hint: 'Of buttons and links; made readable where it is not.' })}`,
  ),
)}
${card('Logo', logoForms(call))}
${card(
  'Account',
  facts([
    ['Account id', copyable(showId('acct', account.id), 'Copy the account id')],
    ['Mode', account.mode],
    [
      'Settlement currency',
      html`${account.currency} <span class="hint">of ${FIAT_CURRENCIES.join(', ')}; fixed, since customers’ totals are kept in it</span>`,
    ],
    ['Email', account.email],
  ]),
)}</div></div>`,
  }
}

function logoForms(call: PlaceCall): Html {
  const { here, gateway } = call
  const { brandLogo } = call.place.account
  const picture = brandLogo
    ? html`<p><img src="${rootOf(gateway)}${logoPath(brandLogo)}" alt="The logo on the checkout" height="64"></p>`
    : html`<p class="hint">None yet: the checkout shows the name alone.</p>`
  if (!call.may('settings:write')) return picture
  const action = `${here}/settings/logo`
  return html`${picture}<form method="post" action="${action}" enctype="multipart/form-data"><fieldset>${field(call, { name: 'logo', label: 'Picture', type: 'file', accept: LOGO_TYPES, required: true, hint: 'PNG, JPEG or WebP, 64 KiB at most.' })}</fieldset>${submit('Show it on the checkout')}</form>${brandLogo && button(`${action}/remove`, 'Take it away', { name: 'Take the logo away' })}`
}

const LOGO_TYPES = 'image/png,image/jpeg,image/webp'

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
        : html`<form method="post" action="${call.here}/go-live">${submit('Make the live account')}</form>`
    }`,
  }
}

export const settingsRows: readonly DashboardRow[] = [
  placeRow('settings:read', { method: 'GET', path: '/:account/settings', handle: settingsPage }),
  placeRow('settings:write', {
    method: 'POST',
    path: '/:account/settings/business',
    confirm: 'recent',
    async handle(call) {
      const zone = call.form.get('time_zone')
      await call.gateway.db.transaction((tx) =>
        changeBusiness(tx, call.person, call.place.membership.merchantId, call.place.account.id, {
          name: call.form.get('name'),
          timeZone: isTimeZone(zone) ? zone : null,
          refundBoundMinor: parseDecimal(call.form.get('refund_bound'), FIAT_DECIMALS),
        }),
      )
      return { to: `${call.here}/settings`, done: 'saved' }
    },
    redraw: settingsPage,
  }),
  placeRow('settings:write', {
    method: 'POST',
    path: '/:account/settings/checkout',
    confirm: 'recent',
    async handle(call) {
      const { form, place } = call
      await changeSettings(call, {
        successUrl: orNull(form.get('success_url')),
        cancelUrl: orNull(form.get('cancel_url')),
        frameOrigins: form
          .get('frame_origins')
          .split(',')
          .filter((each) => each.trim() !== ''),
        acceptsLateFunds: form.all('late').includes('accept'),
      })
      return { to: `${call.base}/${showId('acct', place.account.id)}/settings`, done: 'saved' }
    },
    redraw: settingsPage,
  }),
  placeRow('settings:write', {
    method: 'POST',
    path: '/:account/settings/brand',
    confirm: 'recent',
    async handle(call) {
      await changeSettings(call, {
        brandName: orNull(call.form.get('brand_name')),
        brandColor: orNull(call.form.get('brand_color')),
      })
      return { to: `${call.here}/settings`, done: 'saved' }
    },
    redraw: settingsPage,
  }),
  placeRow('settings:write', {
    method: 'POST',
    path: '/:account/settings/logo',
    confirm: 'recent',
    async handle(call) {
      await changeLogo(call, Buffer.from(call.form.get('logo'), 'base64'))
      return { to: `${call.here}/settings`, done: 'saved' }
    },
    redraw: settingsPage,
  }),
  placeRow('settings:write', {
    method: 'POST',
    path: '/:account/settings/logo/remove',
    confirm: 'recent',
    async handle(call) {
      await changeLogo(call, null)
      return { to: `${call.here}/settings`, done: 'saved' }
    },
    redraw: settingsPage,
  }),
  placeRow('ownership:write', { method: 'GET', path: '/:account/go-live', handle: goLivePage }),
  placeRow('ownership:write', {
    method: 'POST',
    path: '/:account/go-live',
    confirm: 'recent',
    async handle(call) {
      if (call.session.factor === 'password')
        throw invalidField('factor', 'second_factor_required', 'add a second factor before you go live')
      const live = await call.gateway.db.transaction((tx) =>
        goLive(tx, call.person, call.place.membership.merchantId),
      )
      return { to: `${call.base}/${showId('acct', live)}`, done: 'live' }
    },
    redraw: goLivePage,
  }),
]

async function changeSettings(call: PlaceCall, changes: Parameters<typeof changeAccount>[2]): Promise<void> {
  const { account } = call.place
  await change(call, async (tx, record) => {
    await changeAccount(tx, account.id, changes)
    const before = Object.fromEntries(
      Object.keys(changes).map((name) => [snake(name), account[name as keyof typeof account] ?? null]),
    )
    const after = Object.fromEntries(Object.entries(changes).map(([name, value]) => [snake(name), value]))
    record({ action: 'account.change', subject: showId('acct', account.id), before, after })
  })
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
