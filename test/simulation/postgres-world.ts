/** A world whose gateway keeps its rows where it really does: in PostgreSQL. */
import { mine } from '../../src/chains/simulated/ledger.ts'
import { createMemoryStorage } from '../../src/chains/simulated/memory.ts'
import type { SimulatedChainName } from '../../src/chains/simulated/network.ts'
import type { Database } from '../../src/db/database.ts'
import { meetChain } from '../../src/flows/watching/observe-chain.ts'
import { proveBlock } from '../../src/proof/prove-block.ts'
import { reconcile } from '../../src/proof/reconcile.ts'
import type { Signer } from '../../src/signer/signer.ts'
import { chainKeys } from '../../src/signer/vault.ts'
import { fillAddressPool } from '../../src/wallets/address-pool.sql.ts'
import { testAccount, testGateway } from '../gateway.ts'
import { TEST_SECRETS, testMode, testRoot } from '../wallet.ts'
import { type Dump, writeDump } from './dump.ts'
import { memoryJournal } from './memory-journal.ts'
import { sendCapital } from './story.ts'
import { NO_APPROVALS, type Process, portOf, SIGNER_CONFIG, type World } from './world.ts'

export async function postgresWorld(
  chain: SimulatedChainName,
  seed: number,
  givesGas: boolean,
): Promise<World> {
  const gateway = await testGateway({ freshPerChain: 16 })
  const { db } = gateway
  const account = await testAccount(gateway)
  await fillAddressPool(db, TEST_SECRETS, { fresh: 16, change: 64 })
  // Later than any instant that the database told before: what is mined after a window's end is late in both worlds.
  const storage = createMemoryStorage({ chain, seed: String(seed), now: () => Date.now() + 2 })
  await storage.change((store) => mine(store, 3))
  const port = portOf(storage, givesGas)
  await meetChain(gateway, port)
  const keys = chainKeys(testRoot, chain, testMode(chain))
  await sendCapital(storage, keys, seed)
  const { lookup: withheld } = keys.address(0, 0n)
  await db.query('update addresses set withheld = true where chain = $1 and lookup = $2', [
    chain,
    Buffer.from(withheld),
  ])
  const signer: Signer = {
    db,
    secrets: TEST_SECRETS,
    journal: memoryJournal(async () => {}),
    approvals: NO_APPROVALS,
    config: SIGNER_CONFIG,
    vault: new Map([[chain, keys]]),
    log: gateway.log,
  }
  const start = (name: string): Process => ({
    name,
    gateway,
    port: portOf(storage, givesGas),
    signer,
    lease: null,
    async prove() {
      await proveBlock(gateway, port)
    },
    async verify() {},
    async beat() {},
    maySign: async () => 1,
    hasSigned() {},
    doom() {},
    revive: () => false,
  })
  return {
    chain,
    account,
    storage,
    withheld,
    processes: [start('one'), start('two')],
    api: start('api'),
    complaints: [],
    restart() {},
    setFees() {},
    setFaults() {},
    async endWindow(id) {
      await db.query(
        'update payments set expires_at = clock_timestamp() where id = $1 and expires_at > clock_timestamp()',
        [id],
      )
    },
    async endLease() {
      await db.query('update chains set lease_until = null')
    },
    async passHour() {
      await db.query("update deposits set missing_since = missing_since - interval '2 hours'")
    },
    passMidnight() {},
    async makeDue() {
      await db.query('update signed_transactions set send_at = to_timestamp(0)')
    },
    async copyDatabase() {},
    setDatabaseBack: async () => false,
    async resume() {},
    dump: () => dumpDatabase(db),
    async check() {
      const { differences } = await reconcile(db, [port])
      return differences.map((difference) => `${difference.proof} ${difference.subject}`)
    },
    checkEnd: async () => [],
  }
}

/** Each line is made by PostgreSQL as `dump.ts` makes it of the tables in memory. */
const LINES: Readonly<Record<Exclude<keyof Dump, 'tip'>, string>> = {
  payments: `concat_ws(' ', id, status, asset, due_atoms, coalesce(credited_atoms::text, '-'), coalesce(gateway_fee_atoms::text, '-'),
    settlements, shortfall_atoms, recovered_atoms, coalesce(accepted_net_atoms::text, '-'), coalesce(accepted_fee_atoms::text, '-'), b(decision_due)) from payments`,
  deposits: `concat_ws(' ', payment_id, tx_key, output_index, asset, amount_atoms, status, coalesce(block_height::text, '-'),
    b(late), b(dust), b(booked), bookings, coalesce(replaced_by, '-'), coalesce(replaced_height::text, '-'),
    b(missing_since is not null)) from deposits`,
  balances: `concat_ws(' ', account_id, asset, kind, atoms) from balances where atoms <> 0`,
  withdrawals: `concat_ws(' ', w.id, w.kind, w.status, amount_atoms, fee_atoms, net_atoms, destination, coalesce(tx_hash, '-'),
    coalesce(refused_reason, '-'), coalesce(p.replacement_set, '-')) from withdrawals w
    left join signed_payouts p on p.account_id = w.account_id and p.withdrawal_id = w.id`,
  signed: `concat_ws(' ', txid, replacement_set, kind, value_atoms, fee_atoms, coalesce(block_height::text, '-'), status,
    booked_fee_atoms, fee_bookings, b(bump_wanted), b(sent_at is not null), coalesce(refusal, '-')) from signed_transactions`,
  utxos: `concat_ws(' ', txid, output_index, atoms, coalesce(block_height::text, '-'), coalesce(spent_by, '-'),
    coalesce(spent_height::text, '-'), coalesce(reserved_by, '-'), coalesce(reserved_first_by, '-')) from utxos`,
  sweeps: `concat_ws(' ', address, asset, atoms, ether_atoms, way, b(delegates), status, coalesce(gas_replacement_set, '-'), coalesce(replacement_set, '-'),
    (select count(*) from deposits d where d.chain = s.chain and d.sweep = s.id),
    (select count(*) from unexpected_deposits u where u.chain = s.chain and u.sweep = s.id)) from sweeps s`,
  gas: `concat_ws(' ', txid, address, atoms, block_height, b(sweep is not null)) from gas_funding`,
  unexpected: `concat_ws(' ', tx_key, output_index, coalesce(address, '-'), asset, atoms, coalesce(block_height::text, '-'),
    b(sweep is not null)) from unexpected_deposits`,
  nonces: `concat_ws(' ', sender, next) from nonces`,
  entries: `concat_ws(' ', j.kind, j.subject_id, j.number, (select string_agg(concat_ws(' ', asset, debit, credit, amount_atoms), ' ' order by line)
    from transfers t where t.account_id = j.account_id and t.entry_id = j.id)) from journal_entries j`,
  events: `concat_ws(' ', type, cause) from events`,
}

async function dumpDatabase(db: Database): Promise<string> {
  const lines = async (text: string): Promise<string[]> => {
    const statement = text.replaceAll(/\bb\(([^()]*)\)/g, "case when $1 then 'true' else 'false' end")
    const { rows } = await db.query<{ line: string }>(
      `select ${statement.replace(/\bfrom\b(?![^()]*\))/, 'as line from')}`,
    )
    return rows.map(({ line }) => line)
  }
  const names = new Map<string, string>()
  for (const [word, table] of [
    ['payment', 'payments'],
    ['withdrawal', 'withdrawals'],
  ] as const) {
    const { rows } = await db.query<{ id: string }>(`select id from ${table} order by created_at, id`)
    for (const [count, { id }] of rows.entries()) names.set(id, `${word}#${count}`)
  }
  const { rows: deposits } = await db.query<{ id: string; name: string }>(
    "select id, concat_ws(':', 'deposit', tx_key, output_index) as name from deposits",
  )
  for (const { id, name } of deposits) names.set(id, name)
  const { rows: tips } = await db.query<{ tip: string }>(
    "select concat_ws(' ', tip_height, tip_hash) as tip from chains",
  )
  return writeDump(
    {
      payments: await lines(LINES.payments),
      deposits: await lines(LINES.deposits),
      balances: await lines(LINES.balances),
      withdrawals: await lines(LINES.withdrawals),
      signed: await lines(LINES.signed),
      utxos: await lines(LINES.utxos),
      sweeps: await lines(LINES.sweeps),
      gas: await lines(LINES.gas),
      unexpected: await lines(LINES.unexpected),
      nonces: await lines(LINES.nonces),
      entries: await lines(LINES.entries),
      events: await lines(LINES.events),
      tip: tips.map(({ tip }) => tip).join(),
    },
    names,
  )
}
