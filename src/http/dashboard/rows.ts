/** All rows of the dashboard. A new page adds its file here. */
import { allowlistRows } from './pages/allowlist.ts'
import { approvalRows } from './pages/approvals.ts'
import { approverRows } from './pages/approvers.ts'
import { balanceRows } from './pages/balance.ts'
import { customerRows } from './pages/customers.ts'
import { doorRows } from './pages/door.ts'
import { joinRows } from './pages/join.ts'
import { keyRows } from './pages/keys.ts'
import { linkRows } from './pages/links.ts'
import { logRows } from './pages/logs.ts'
import { meRows } from './pages/me.ts'
import { operatorRows } from './pages/operator.ts'
import { operatorAlertRows } from './pages/operator-alerts.ts'
import { operatorDeliveryRows } from './pages/operator-deliveries.ts'
import { operatorHealthRows } from './pages/operator-health.ts'
import { operatorMoneyRows } from './pages/operator-money.ts'
import { overviewRows } from './pages/overview.ts'
import { paymentRow } from './pages/payment.ts'
import { paymentRows } from './pages/payments.ts'
import { batchRows } from './pages/payout-batches.ts'
import { pointOfSaleRows } from './pages/points-of-sale.ts'
import { policyRows } from './pages/policy.ts'
import { quickstartRows } from './pages/quickstart.ts'
import { requestRows } from './pages/requests.ts'
import { sandboxRows } from './pages/sandbox-rows.ts'
import { searchRows } from './pages/search.ts'
import { settingsRows } from './pages/settings.ts'
import { signOnRows } from './pages/sign-on.ts'
import { teamRows } from './pages/team.ts'
import { viewRows } from './pages/views.ts'
import { webhookRows } from './pages/webhooks.ts'
import { withdrawalRows } from './pages/withdrawals.ts'
import type { DashboardRow } from './row.ts'

export const dashboardRows: readonly DashboardRow[] = [
  doorRows,
  signOnRows,
  joinRows,
  meRows,
  overviewRows,
  paymentRows,
  paymentRow,
  sandboxRows,
  customerRows,
  linkRows,
  pointOfSaleRows,
  balanceRows,
  withdrawalRows,
  batchRows,
  approvalRows,
  policyRows,
  approverRows,
  allowlistRows,
  keyRows,
  webhookRows,
  logRows,
  requestRows,
  quickstartRows,
  settingsRows,
  teamRows,
  viewRows,
  searchRows,
  operatorRows,
  operatorHealthRows,
  operatorMoneyRows,
  operatorDeliveryRows,
  operatorAlertRows,
].flat()
