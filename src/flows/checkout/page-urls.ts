/** Where buyers are sent. */
import { type PaymentLinkId, type PointOfSaleId, type SessionId, showId } from '../../core/ids.ts'
import type { Gateway } from '../gateway.ts'

/** Where the buyer is sent: `url` of a checkout session. */
export const checkoutUrl = (gateway: Pick<Gateway, 'settings'>, id: SessionId): string =>
  `${gateway.settings.publicUrl}/checkout/${showId('cs', id)}`

/** The hosted page of a payment link: its `url`. */
export const paymentLinkUrl = (gateway: Pick<Gateway, 'settings'>, id: PaymentLinkId): string =>
  `${gateway.settings.publicUrl}/pay/${showId('plink', id)}`

/** The page of a point of sale. Whoever has it is let in. */
export const pointOfSaleUrl = (gateway: Pick<Gateway, 'settings'>, id: PointOfSaleId): string =>
  `${gateway.settings.publicUrl}/pos/${showId('pos', id)}`
