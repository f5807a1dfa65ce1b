/** All rows of the API below `/v1`, in the order of the reference. A new resource adds its file here. */
import type { Route } from '../route.ts'
import { balance } from './balance.ts'
import { customers } from './customers.ts'
import { payments } from './payments.ts'
import { webhooks } from './webhooks.ts'
import { withdrawals } from './withdrawals.ts'

export const routes: readonly Route[] = [payments, webhooks, customers, balance, withdrawals].flat()
