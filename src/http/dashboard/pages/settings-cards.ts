/** The cards of the settings: what can be set, as it is now. */
import type { Account } from '../../../accounts/account.ts'
import { CONFIRMATIONS_MAX } from '../../../accounts/confirmation-rules.ts'
import { ASSETS, type Asset, FIAT_CURRENCIES } from '../../../core/assets.ts'
import { showId } from '../../../core/ids.ts'
import { FIAT_DECIMALS, formatDecimal } from '../../../core/money.ts'
import { confirmationsOf } from '../../../flows/gateway.ts'
import type { Merchant } from '../../../users/merchants.sql.ts'
import { accentOf } from '../../hosted/colour.ts'
import { type Html, html, type Part } from '../../hosted/html.ts'
import { logoPath } from '../../hosted/serve-web-files.ts'
import {
  ASSET_CHOICES,
  button,
  card,
  checks,
  copyable,
  FIAT_CHOICES,
  facts,
  field,
  select,
  submit,
} from '../parts.ts'
import { rootOf } from '../root.ts'
import type { PlaceCall } from '../row.ts'
import { fiat } from '../words.ts'

/** A form that saves at `settings/<path>`; to whoever may only read, the same without a button. */
const form = (call: PlaceCall, path: string, content: Part): Html =>
  call.may('settings:write')
    ? html`<form method="post" action="${call.here}/settings/${path}"><fieldset>${content}</fieldset>${submit('Save')}</form>`
    : html`<fieldset disabled>${content}</fieldset>`

export const businessCard = (call: PlaceCall, merchant: Merchant | null): Html =>
  card(
    'Business',
    form(
      call,
      'business',
      html`${field(call, { name: 'name', label: 'Name', value: merchant?.name ?? '', required: true, maxlength: 255 })}${field(call, { name: 'time_zone', label: 'Time zone', value: merchant?.timeZone ?? 'UTC', required: true, maxlength: 60, hint: 'Whose days lists and sums have, such as Europe/Berlin.' })}${field(call, { name: 'refund_bound', label: 'Support refunds up to', value: formatDecimal(merchant?.refundBoundMinor ?? 0n, FIAT_DECIMALS), required: true, inputmode: 'decimal', hint: 'One refund, in the payment’s own currency. 0 leaves refunds to others.' })}`,
    ),
  )

/** @param isFixed - There is a payment already. */
export const currencyCard = (call: PlaceCall, isFixed: boolean): Html => {
  const { currency } = call.place.account
  return card(
    'Settlement currency',
    isFixed
      ? html`<p><strong>${currency}</strong></p><p class="hint">Sales and customers’ totals are kept in it since the first payment, so it stays. Prices can be in any of ${FIAT_CURRENCIES.join(', ')}, and the balance shows in each.</p>`
      : form(
          call,
          'currency',
          select(call, {
            name: 'currency',
            label: 'Currency',
            choices: FIAT_CHOICES,
            value: currency,
            hint: 'What sales and customers’ totals are kept in, and balances estimated in. It stays once there is a payment.',
          }),
        ),
  )
}

export const paymentsCard = (call: PlaceCall): Html => {
  const { account } = call.place
  return card(
    'Payments',
    form(
      call,
      'payments',
      html`${checks(call, { name: 'coins', legend: 'Coins that buyers may pick', choices: ASSET_CHOICES, checked: account.offeredAssets ?? ASSETS })}${field(call, { name: 'tolerance', label: 'May be missing', value: formatDecimal(BigInt(account.toleranceBps), 2), required: true, inputmode: 'decimal', unit: '%', hint: '0 to 5. A payment that lacks no more than this is completed with what came.' })}${checks(call, { name: 'late', legend: 'Late funds', choices: [['accept', 'Accept them without asking within 24 hours, when their value covers the price']], checked: account.acceptsLateFunds ? ['accept'] : [] })}`,
    ),
  )
}

/** A line for each coin: from which price on, how many. */
export const confirmationsCard = (call: PlaceCall): Html => {
  const { account } = call.place
  const line = (asset: Asset): Html => {
    const rule = account.confirmationRules.find((each) => each.asset === asset)
    return html`<fieldset class="checks"><legend>${asset}, otherwise ${confirmationsOf(call.gateway.settings, asset)}</legend><div class="pair">${field(call, { name: `from_${asset}`, label: `From ${account.currency}`, value: rule ? formatDecimal(rule.fromMinor, FIAT_DECIMALS) : null, inputmode: 'decimal', maxlength: 12 })}${field(call, { name: `confirmations_${asset}`, label: 'Confirmations', value: rule?.confirmations ?? null, inputmode: 'numeric', maxlength: 3 })}</div></fieldset>`
  }
  return card(
    'Confirmations of large payments',
    form(
      call,
      'confirmations',
      html`<p class="hint">More than usual, up to ${CONFIRMATIONS_MAX}, where much is at stake. Empty leaves a coin as it is; payments that are made from now on.</p>${ASSETS.map(line)}`,
    ),
  )
}

export const checkoutCard = (call: PlaceCall): Html => {
  const { account } = call.place
  return card(
    'Checkout',
    form(
      call,
      'checkout',
      html`${field(call, { name: 'success_url', label: 'After paying, buyers go to', type: 'url', value: account.successUrl, maxlength: 2_048 })}${field(call, { name: 'cancel_url', label: 'After cancelling, to', type: 'url', value: account.cancelUrl, maxlength: 2_048 })}${field(call, { name: 'contact', label: 'Where buyers ask', value: account.contact, maxlength: 2_048, hint: 'An email address, or a page.' })}${field(call, { name: 'terms_url', label: 'Your terms', type: 'url', value: account.termsUrl, maxlength: 2_048 })}${field(call, { name: 'privacy_url', label: 'Your privacy notice', type: 'url', value: account.privacyUrl, maxlength: 2_048 })}${field(call, { name: 'frame_origins', label: 'Sites that may frame the checkout', value: account.frameOrigins.join(', '), hint: 'Separated by commas, such as https://shop.example.' })}`,
    ),
  )
}

export const brandCard = (call: PlaceCall): Html => {
  const { account } = call.place
  return card(
    'Brand',
    html`${form(call, 'brand', html`${field(call, { name: 'brand_name', label: 'Name on the checkout', value: account.brandName, maxlength: 80, placeholder: account.name })}${field(call, { name: 'brand_color', label: 'Colour', value: account.brandColor, maxlength: 7, placeholder: '#2c52d0', hint: 'Of buttons and links; made readable where it is not.' })}`)}${preview(call, account)}`,
  )
}

/** The checkout in small, in the account's colours; a script lets it follow what is typed. */
function preview({ nonce, gateway }: PlaceCall, account: Account): Html {
  const { light, dark } = accentOf(account.brandColor)
  return html`<style nonce="${nonce}">.preview{--accent:${light.fill};--on-accent:${light.on}}@media(prefers-color-scheme:dark){.preview{--accent:${dark.fill};--on-accent:${dark.on}}}</style><figure class="preview" data-preview><p class="merchant">${account.brandLogo && html`<img src="${rootOf(gateway)}${logoPath(account.brandLogo)}" alt="" height="32">`}<strong data-preview-name="${account.name}">${account.brandName ?? account.name}</strong></p><p class="figure">${fiat(4_999n, account.currency)}</p><p><span class="button primary">Continue</span></p><figcaption class="hint">How the checkout begins</figcaption></figure>`
}

const LOGO_TYPES = 'image/png,image/jpeg,image/webp'

export function logoCard(call: PlaceCall): Html {
  const { here, gateway } = call
  const { brandLogo } = call.place.account
  const picture = brandLogo
    ? html`<p><img src="${rootOf(gateway)}${logoPath(brandLogo)}" alt="The logo on the checkout" height="64"></p>`
    : html`<p class="hint">None yet: the checkout shows the name alone.</p>`
  const action = `${here}/settings/logo`
  return card(
    'Logo',
    call.may('settings:write')
      ? html`${picture}<form method="post" action="${action}" enctype="multipart/form-data"><fieldset>${field(call, { name: 'logo', label: 'Picture', type: 'file', accept: LOGO_TYPES, required: true, hint: 'PNG, JPEG or WebP, 64 KiB at most.' })}</fieldset>${submit('Show it on the checkout')}</form>${brandLogo && button(`${action}/remove`, 'Take it away', { name: 'Take the logo away' })}`
      : picture,
  )
}

export const accountCard = ({ place: { account } }: PlaceCall): Html =>
  card(
    'Account',
    facts([
      ['Account id', copyable(showId('acct', account.id), 'Copy the account id')],
      ['Mode', account.mode],
      ['Email', account.email],
    ]),
  )

/** Who is told of what by mail; nobody can switch off what gets at money. What of a test account: `tellPeople`. */
export const mailsCard = ({ gateway, place, base }: PlaceCall): Html =>
  card(
    'Mails',
    gateway.settings.sendsMail
      ? html`<p>${
          place.account.mode === 'live'
            ? 'Owners get a mail whenever a sign-in, a key, an endpoint, the policy, the approvers, the allowlist, these settings or the team change'
            : 'Of this test account owners get a mail when a sign-in, the business, the team, the approvers, or an approved policy or allowlist changes; of the live one of keys, endpoints and the other settings too'
        }, and approvers when something waits for them. What happens to payments is told to your server by webhooks, and of real ones to people as each wants it: <a href="${base}/me">your sign-in</a>.</p>`
      : html`<p class="hint">This Beck sends no mail: the operator sets <code>SMTP_URL</code>. Changes are in the audit log.</p>`,
  )
