/** What monitoring sees of Beck's health: gauges and counters that are read when they are asked for. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Asset } from '../core/assets.ts'
import { formatAmount } from '../core/money.ts'
import type { Connections } from '../db/database.ts'
import type { DeliveryTotal } from '../events/delivery-totals.sql.ts'
import type { Health } from '../flows/operation/health.ts'
import type { Volume } from '../flows/operation/volume.sql.ts'
import type { OwnBalance } from '../flows/withdrawals/request-own-payout.ts'
import { walletAtoms } from '../ledger/own-sums.ts'

type Fill = (gauge: Gauge, health: Health) => void

const gauge = (name: string, help: string, labelNames: string[], fill: Fill) => ({
  name: `beck_${name}`,
  help,
  labelNames,
  fill,
})

const GAUGES = [
  gauge('ready', '1 when the API can answer', [], (to, health) => to.set(Number(health.ready))),
  gauge('database_ok', '1 when the database answers and lost no commits', [], (to, { database }) =>
    to.set(Number(database.ok)),
  ),
  gauge('chain_ok', '1 when payments on the chain are taken', ['chain'], (to, { chains }) => {
    for (const { chain, ok } of chains) to.set({ chain }, Number(ok))
  }),
  gauge('chain_tip_height', 'newest block known', ['chain'], (to, { chains }) => {
    for (const { chain, tipHeight } of chains) if (tipHeight !== null) to.set({ chain }, tipHeight)
  }),
  gauge('chain_tip_age_seconds', 'age of the newest block known', ['chain'], (to, { chains }) => {
    for (const { chain, tipAgeMs } of chains) if (tipAgeMs !== null) to.set({ chain }, tipAgeMs / 1_000)
  }),
  gauge('chain_poll_age_seconds', 'time since the last complete look', ['chain'], (to, { chains }) => {
    for (const { chain, pollAgeMs } of chains) if (pollAgeMs !== null) to.set({ chain }, pollAgeMs / 1_000)
  }),
  gauge('rate_age_seconds', 'age of the oldest live rate in use', [], (to, { rates }) => {
    if (rates.ageMs !== null) to.set(rates.ageMs / 1_000)
  }),
  gauge('rates_ok', '1 when no live rate in use is missing', [], (to, { rates }) => to.set(Number(rates.ok))),
  gauge(
    'role_running',
    'processes that play a role and said so within 30 seconds',
    ['role'],
    (to, { roles }) => {
      for (const { role, running } of roles) to.set({ role }, running)
    },
  ),
  gauge(
    'role_concerns',
    'things that processes of a role want the operator to see to',
    ['role'],
    (to, { roles }) => {
      for (const { role, concerns } of roles) to.set({ role }, concerns.length)
    },
  ),
  gauge(
    'role_loop_lag_seconds',
    'the longest wait for a turn in the last seconds, the worst process of a role',
    ['role'],
    (to, { roles }) => {
      for (const { role, running, loopLagMs } of roles) if (running > 0) to.set({ role }, loopLagMs / 1_000)
    },
  ),
  gauge(
    'disk_free_bytes',
    'of the disk with the data directory, the least of a role',
    ['role'],
    (to, { roles }) => {
      for (const { role, diskFreeBytes } of roles)
        if (diskFreeBytes !== null) to.set({ role }, Number(diskFreeBytes))
    },
  ),
  gauge('decisions_due', 'payments with news nobody has looked at', [], (to, { backlog }) => {
    if (backlog) to.set(backlog.decisionsDue)
  }),
  gauge('delivery_due_age_seconds', 'wait of the webhook due the longest', [], (to, { backlog }) => {
    if (backlog) to.set(backlog.deliveryDueAgeMs / 1_000)
  }),
  gauge('deliveries_pending', 'webhooks waiting for an attempt', [], (to, { backlog }) => {
    if (backlog) to.set(backlog.deliveriesPending)
  }),
  gauge(
    'webhook_endpoints_ill',
    'endpoints that fail now, or were disabled for it',
    ['state'],
    (to, { backlog }) => {
      if (!backlog) return
      to.set({ state: 'failing' }, backlog.endpointsFailing)
      to.set({ state: 'disabled' }, backlog.endpointsDisabled)
    },
  ),
  gauge('fresh_addresses', 'addresses derived ahead', ['chain'], (to, { backlog }) => {
    for (const [chain, count] of Object.entries(backlog?.freshAddresses ?? {})) to.set({ chain }, count)
  }),
  gauge(
    'withdrawal_waiting_age_seconds',
    'wait of the oldest withdrawal that was not sent yet',
    ['chain'],
    (to, { backlog }) => {
      for (const [chain, ageMs] of Object.entries(backlog?.withdrawalAgesMs ?? {}))
        to.set({ chain }, ageMs / 1_000)
    },
  ),
  gauge(
    'unswept_coins',
    'confirmed deposits that lie at their own addresses, in whole coins',
    ['chain', 'asset'],
    (to, { backlog }) => {
      for (const { chain, asset, atoms } of backlog?.unswept ?? [])
        to.set({ chain, asset }, coins(atoms, asset))
    },
  ),
  gauge('frozen', '1 for a coin that pays nothing out', ['chain', 'asset'], (to, { backlog }) => {
    for (const { chain, asset } of backlog?.frozen ?? []) to.set({ chain, asset }, 1)
  }),
  gauge(
    'proof_age_seconds',
    'time since books and chain were last found to agree',
    ['chain'],
    (to, { backlog }) => {
      for (const [chain, ageMs] of Object.entries(backlog?.proofAgesMs ?? {}))
        to.set({ chain }, ageMs / 1_000)
    },
  ),
  gauge(
    'rows_proof_age_seconds',
    'time since the rows of the books were last found to agree with each other',
    [],
    (to, { backlog }) => {
      if (backlog && backlog.rowsProofAgeMs !== null) to.set(backlog.rowsProofAgeMs / 1_000)
    },
  ),
  gauge('backup_age_seconds', 'time since a whole backup was last made', [], (to, { backlog }) => {
    if (backlog && backlog.backupAgeMs !== null) to.set(backlog.backupAgeMs / 1_000)
  }),
  gauge('alerts', 'alerts that the operator has not acknowledged', [], (to, { backlog }) => {
    if (backlog) to.set(backlog.alerts)
  }),
]

export function describeHealth(registry: Registry, read: () => Promise<Health>): void {
  for (const { fill, ...described } of GAUGES)
    new Gauge({
      ...described,
      registers: [registry],
      async collect() {
        this.reset()
        fill(this, await read())
      },
    })
  describeAttempts(registry, read)
}

/** What is the gateway's own, in whole coins. */
export function describeOwnMoney(registry: Registry, read: () => Promise<OwnBalance[]>): void {
  described(
    registry,
    'own_coins',
    "the gateway's own: fees earned, capital, network fees paid, loss, what can be taken out, what merchants have, what the wallets hold by the books",
    ['chain', 'asset', 'account'],
    async (to) => {
      for (const { chain, asset, payable, ...sums } of await read())
        for (const [account, atoms] of [
          ['fees', sums.fees],
          ['capital', sums.capital],
          ['network_fees', sums.networkFees],
          ['loss', sums.loss],
          ['leaving', sums.leaving],
          ['owed', sums.owed],
          ['fees_payable', payable.fees],
          ['capital_payable', payable.capital],
          ['wallet', walletAtoms({ chain, asset, ...sums })],
        ] as const)
          to.set({ chain, asset, account }, coins(atoms, asset))
    },
  )
}

/** What goes through the gateway, how much ether is there for gas, and what of the pool is in use. */
export function describeVolume(
  registry: Registry,
  read: {
    readonly volume: () => Promise<Volume>
    readonly own: () => Promise<OwnBalance[]>
    readonly health: () => Promise<Health>
    readonly connections: () => Connections
  },
): void {
  described(registry, 'payments', 'payments there are, by state', ['mode', 'status'], async (to) => {
    for (const { mode, status, count } of (await read.volume()).payments)
      to.set({ mode, status }, Number(count))
  })
  described(
    registry,
    'moved_coins',
    'booked within 24 hours, in whole coins: in from buyers and capital, out to merchants and networks',
    ['chain', 'asset', 'direction'],
    async (to) => {
      for (const { chain, asset, inAtoms, outAtoms } of (await read.volume()).moved) {
        to.set({ chain, asset, direction: 'in' }, coins(inAtoms, asset))
        to.set({ chain, asset, direction: 'out' }, coins(outAtoms, asset))
      }
    },
  )
  described(
    registry,
    'gas_coins',
    'ether of the hot wallet, which pays for payouts and sweeps',
    ['chain'],
    async (to) => {
      const [own, { backlog }] = await Promise.all([read.own(), read.health()])
      for (const sums of own) {
        if (sums.asset !== 'ETH') continue
        const lying = backlog?.unswept.find(({ chain, asset }) => chain === sums.chain && asset === 'ETH')
        to.set({ chain: sums.chain }, coins(walletAtoms(sums) - (lying?.atoms ?? 0n), 'ETH'))
      }
    },
  )
  described(registry, 'database_connections', 'of this process, by what they do', ['state'], async (to) => {
    const { busy, idle, waiting } = read.connections()
    to.set({ state: 'busy' }, busy)
    to.set({ state: 'idle' }, idle)
    to.set({ state: 'waiting' }, waiting)
  })
}

/** A gauge that reads what it needs by itself. */
function described(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  fill: (to: Gauge) => Promise<void>,
): void {
  new Gauge({
    name: `beck_${name}`,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      this.reset()
      // Metrics of a database that does not answer are those that need none.
      await fill(this).catch(() => {})
    },
  })
}

const coins = (atoms: bigint, asset: Asset): number => Number(formatAmount(atoms, asset))

/** Counters kept in the database, so that they are those of all workers. */
function describeAttempts(registry: Registry, read: () => Promise<Health>): void {
  const counter = (name: string, help: string, amount: (total: DeliveryTotal) => number) =>
    new Counter({
      name: `beck_delivery_${name}`,
      help,
      labelNames: ['result'],
      registers: [registry],
      async collect() {
        this.reset()
        for (const total of (await read()).backlog?.deliveryTotals ?? [])
          this.inc({ result: total.result }, amount(total))
      },
    })
  counter('attempts_total', 'attempts to deliver webhooks, by the answer', ({ attempts }) => attempts)
  counter('attempt_seconds_total', 'time they took', ({ durationMs }) => durationMs / 1_000)
}
