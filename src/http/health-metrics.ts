/** What monitoring sees of Beck's health: gauges and counters that are read when they are asked for. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Asset } from '../core/assets.ts'
import { formatAmount } from '../core/money.ts'
import type { Connections } from '../db/database.ts'
import type { DeliveryTotal } from '../events/delivery-totals.sql.ts'
import type { Backlog } from '../flows/operation/health.sql.ts'
import type { ChainHealth, Health, RoleHealth } from '../flows/operation/health.ts'
import type { Volume } from '../flows/operation/volume.sql.ts'
import type { OwnBalance } from '../flows/withdrawals/request-own-payout.ts'
import { walletAtoms } from '../ledger/own-sums.ts'

type Labels = Readonly<Record<string, string>>

/** With their labels; what nobody knows has no value. */
type Samples = readonly (readonly [labels: Labels, value: number | null])[]

const gauge = (name: string, help: string, labelNames: string[], samples: (health: Health) => Samples) =>
  [name, help, labelNames, samples] as const

const ofAll = (name: string, help: string, value: (health: Health) => number | null) =>
  gauge(name, help, [], (health) => [[{}, value(health)]])
const ofChain = (name: string, help: string, value: (chain: ChainHealth) => number | null) =>
  gauge(name, help, ['chain'], ({ chains }) => chains.map((each) => [{ chain: each.chain }, value(each)]))
const ofRole = (name: string, help: string, value: (role: RoleHealth) => number | null) =>
  gauge(name, help, ['role'], ({ roles }) => roles.map((each) => [{ role: each.role }, value(each)]))
const ofBacklog = (name: string, help: string, value: (backlog: Backlog) => number | null) =>
  gauge(name, help, [], ({ backlog }) => (backlog ? [[{}, value(backlog)]] : []))

const seconds = (ms: number | null) => (ms === null ? null : ms / 1_000)
const byChain = (values: Partial<Readonly<Record<string, number>>> | undefined): Samples =>
  Object.entries(values ?? {}).map(([chain, value = null]) => [{ chain }, value])
const agesByChain = (agesMs: Partial<Readonly<Record<string, number>>> | undefined): Samples =>
  byChain(agesMs).map(([labels, ageMs]) => [labels, seconds(ageMs)])

const GAUGES = [
  ofAll('ready', '1 when the API can answer', ({ ready }) => Number(ready)),
  ofAll('database_ok', '1 when the database answers and lost no commits', ({ database }) =>
    Number(database.ok),
  ),
  ofChain('chain_ok', '1 when payments on the chain are taken', ({ ok }) => Number(ok)),
  ofChain('chain_tip_height', 'newest block known', ({ tipHeight }) => tipHeight),
  ofChain('chain_tip_age_seconds', 'age of the newest block known', ({ tipAgeMs }) => seconds(tipAgeMs)),
  ofChain('chain_poll_age_seconds', 'time since the last complete look', ({ pollAgeMs }) =>
    seconds(pollAgeMs),
  ),
  ofAll('rate_age_seconds', 'age of the oldest live rate in use', ({ rates }) => seconds(rates.ageMs)),
  ofAll('rates_ok', '1 when no live rate in use is missing', ({ rates }) => Number(rates.ok)),
  ofRole(
    'role_running',
    'processes that play a role and said so within 30 seconds',
    ({ running }) => running,
  ),
  ofRole(
    'role_concerns',
    'things that processes of a role want the operator to see to',
    ({ concerns }) => concerns.length,
  ),
  ofRole(
    'role_loop_lag_seconds',
    'the longest wait for a turn in the last seconds, the worst process of a role',
    ({ running, loopLagMs }) => (running > 0 ? seconds(loopLagMs) : null),
  ),
  ofRole(
    'disk_free_bytes',
    'of the disk with the data directory, the least of a role',
    ({ diskFreeBytes }) => (diskFreeBytes === null ? null : Number(diskFreeBytes)),
  ),
  ofBacklog('decisions_due', 'payments with news nobody has looked at', ({ decisionsDue }) => decisionsDue),
  ofBacklog('delivery_due_age_seconds', 'wait of the webhook due the longest', ({ deliveryDueAgeMs }) =>
    seconds(deliveryDueAgeMs),
  ),
  ofBacklog('deliveries_pending', 'webhooks waiting for an attempt', (backlog) => backlog.deliveriesPending),
  gauge(
    'webhook_endpoints_ill',
    'endpoints that fail now, or were disabled for it',
    ['state'],
    ({ backlog }) => [
      [{ state: 'failing' }, backlog?.endpointsFailing ?? null],
      [{ state: 'disabled' }, backlog?.endpointsDisabled ?? null],
    ],
  ),
  gauge('fresh_addresses', 'addresses derived ahead', ['chain'], ({ backlog }) =>
    byChain(backlog?.freshAddresses),
  ),
  gauge(
    'withdrawal_waiting_age_seconds',
    'wait of the oldest withdrawal that was not sent yet',
    ['chain'],
    ({ backlog }) => agesByChain(backlog?.withdrawalAgesMs),
  ),
  gauge(
    'unswept_coins',
    'confirmed deposits that lie at their own addresses, in whole coins',
    ['chain', 'asset'],
    ({ backlog }) =>
      (backlog?.unswept ?? []).map(({ chain, asset, atoms }) => [{ chain, asset }, coins(atoms, asset)]),
  ),
  gauge('frozen', '1 for a coin that pays nothing out', ['chain', 'asset'], ({ backlog }) =>
    (backlog?.frozen ?? []).map(({ chain, asset }) => [{ chain, asset }, 1]),
  ),
  gauge(
    'proof_age_seconds',
    'time since books and chain were last found to agree',
    ['chain'],
    ({ backlog }) => agesByChain(backlog?.proofAgesMs),
  ),
  ofBacklog(
    'rows_proof_age_seconds',
    'time since the rows of the books were last found to agree with each other',
    ({ rowsProofAgeMs }) => seconds(rowsProofAgeMs),
  ),
  ofBacklog('backup_age_seconds', 'time since a whole backup was last made', ({ backupAgeMs }) =>
    seconds(backupAgeMs),
  ),
  ofBacklog('alerts', 'alerts that the operator has not acknowledged', ({ alerts }) => alerts),
]

export function describeHealth(registry: Registry, read: () => Promise<Health>): void {
  for (const [name, help, labelNames, samples] of GAUGES)
    describe(registry, name, help, labelNames, async () => samples(await read()))
  describeAttempts(registry, read)
}

/** What is the gateway's own, in whole coins. */
export function describeOwnMoney(registry: Registry, read: () => Promise<OwnBalance[]>): void {
  describe(
    registry,
    'own_coins',
    "the gateway's own: fees earned, capital, network fees paid, loss, what can be taken out, what merchants have, what the wallets hold by the books",
    ['chain', 'asset', 'account'],
    unlessAway(async () =>
      (await read()).flatMap(({ chain, asset, payable, ...sums }) =>
        Object.entries({
          fees: sums.fees,
          capital: sums.capital,
          network_fees: sums.networkFees,
          loss: sums.loss,
          leaving: sums.leaving,
          owed: sums.owed,
          fees_payable: payable.fees,
          capital_payable: payable.capital,
          wallet: walletAtoms({ chain, asset, ...sums }),
        }).map(([account, atoms]) => [{ chain, asset, account }, coins(atoms, asset)] as const),
      ),
    ),
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
  describe(
    registry,
    'payments',
    'payments there are, by state',
    ['mode', 'status'],
    unlessAway(async () =>
      (await read.volume()).payments.map(({ mode, status, count }) => [{ mode, status }, Number(count)]),
    ),
  )
  describe(
    registry,
    'moved_coins',
    'booked within 24 hours, in whole coins: in from buyers and capital, out to merchants and networks',
    ['chain', 'asset', 'direction'],
    unlessAway(async () =>
      (await read.volume()).moved.flatMap(({ chain, asset, inAtoms, outAtoms }) => [
        [{ chain, asset, direction: 'in' }, coins(inAtoms, asset)],
        [{ chain, asset, direction: 'out' }, coins(outAtoms, asset)],
      ]),
    ),
  )
  describe(
    registry,
    'gas_coins',
    'ether of the hot wallet, which pays for payouts and sweeps',
    ['chain'],
    unlessAway(async () => {
      const [own, { backlog }] = await Promise.all([read.own(), read.health()])
      return own
        .filter(({ asset }) => asset === 'ETH')
        .map((sums) => {
          const lying = backlog?.unswept.find(({ chain, asset }) => chain === sums.chain && asset === 'ETH')
          return [{ chain: sums.chain }, coins(walletAtoms(sums) - (lying?.atoms ?? 0n), 'ETH')]
        })
    }),
  )
  describe(registry, 'database_connections', 'of this process, by what they do', ['state'], async () =>
    Object.entries(read.connections()).map(([state, count]) => [{ state }, count]),
  )
}

/** Metrics of a database that does not answer are those that need none. */
const unlessAway = (read: () => Promise<Samples>) => () => read().catch(() => [])

/** A gauge that is read when it is asked for. */
function describe(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: () => Promise<Samples>,
): void {
  new Gauge({
    name: `beck_${name}`,
    help,
    labelNames,
    registers: [registry],
    async collect() {
      this.reset()
      for (const [labels, value] of await read()) if (value !== null) this.set(labels, value)
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
