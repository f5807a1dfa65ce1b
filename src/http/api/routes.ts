/** All rows of the API below `/v1`, in the order of the reference. A new resource adds its file here. */
import type { Route } from '../route.ts'
import { balance } from './balance.ts'
import { checkoutSessions } from './checkout-sessions.ts'
import { customers } from './customers.ts'
import { events } from './events.ts'
import { paymentLinks } from './payment-links.ts'
import { payments } from './payments.ts'
import { pointsOfSale } from './points-of-sale.ts'
import { sandbox } from './sandbox.ts'
import { webhookDeliveries } from './webhook-deliveries.ts'
import { webhooks } from './webhooks.ts'
import { withdrawals } from './withdrawals.ts'

export const routes: readonly Route[] = [
  payments,
  checkoutSessions,
  paymentLinks,
  pointsOfSale,
  webhooks,
  webhookDeliveries,
  events,
  customers,
  balance,
  withdrawals,
  sandbox,
].flat()
