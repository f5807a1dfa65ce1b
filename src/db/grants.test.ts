/** Server and signer are users of their own: neither writes what is the other's, and the ledger's past is nobody's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseAs, testDatabase } from '../../test/database.ts'
import { requireSight, SERVER_ROLE, SIGNER_ROLE } from './grants.ts'
import { migrate, readMigrations } from './migrate.ts'

const owner = await testDatabase()
const KNOWN = await readMigrations()
await migrate(owner)
const server = await databaseAs(owner.url, SERVER_ROLE)
const signer = await databaseAs(owner.url, SIGNER_ROLE)

const SERVERS_REFUSED: readonly string[] = [
  `insert into wallets (chain, series, network, xpub, mac) values ('bitcoin', 'his', 'mainnet', 'x', sha256('x'))`,
  `update wallets set xpub = 'his'`,
  'update wallets set retired_at = now()',
  'delete from wallets',
  `insert into signed_transactions (chain, txid, replacement_set) values ('bitcoin', 'x', 'x')`,
  'delete from signed_transactions',
  `insert into signed_payouts (account_id, withdrawal_id, chain, replacement_set) values (gen_random_uuid(), gen_random_uuid(), 'x', 'x')`,
  'delete from signed_payouts',
  'select from sandbox_seed',
  'delete from approvals',
  'update approvals set user_id = gen_random_uuid()',
  `update pinned_approvers set counts_from = now()`,
  `insert into approval_policies (account_id, number) values (gen_random_uuid(), 1)`,
  'delete from approval_policies',
  'delete from allowed_addresses',
  'delete from freezes',
  'update transfers set amount_atoms = 1',
  'delete from transfers',
  `update journal_entries set created_at = now()`,
  'delete from journal_entries',
  'delete from withdrawals',
  'delete from payments',
  'delete from deposits',
  'delete from audit_log',
  'delete from users',
  'delete from merchants',
  'delete from chains',
  'delete from utxos',
  'delete from unresolved_funds',
  'delete from approval_requests',
  `update payments set address = 'his'`,
  'update payments set due_atoms = 1',
  `update deposits set address = 'his'`,
  'update deposits set amount_atoms = 1',
  `update withdrawals set destination = 'his'`,
  'update withdrawals set amount_atoms = 1',
  `update withdrawals set mac = sha256('his')`,
  `update addresses set address = 'his'`,
  'update signed_transactions set raw = null',
  'update utxos set atoms = 1',
  `update api_keys set scopes = '{}'`,
  `update audit_log set actor_id = 'nobody'`,
  'truncate audit_log',
  `insert into schema_migrations values ('x', 'x')`,
  'create table his (x int)',
  'alter table audit_log disable trigger user',
  'drop table alerts',
]
const SIGNERS_REFUSED: readonly string[] = [
  'select email from accounts',
  'select password_hash from users',
  'delete from approvals',
  `update approval_requests set asked_by = 'him'`,
  'select from api_keys',
  'select from webhook_endpoints',
  'select from customers',
  'select from payments',
  'select from idempotency_keys',
  `insert into withdrawals (account_id, id) values (gen_random_uuid(), gen_random_uuid())`,
  'delete from withdrawals',
  `update withdrawals set destination = 'his'`,
  'update withdrawals set amount_atoms = 1',
  `update withdrawals set mac = sha256('his')`,
  `update withdrawals set status = 'completed'`,
  'update utxos set atoms = 1',
  'delete from pinned_approvers',
  `insert into journal_entries (account_id, id) values (gen_random_uuid(), gen_random_uuid())`,
  'insert into transfers (amount_atoms) values (1)',
  'update balances set atoms = 1',
  'select from deposits',
  `update addresses set address = 'his'`,
  'update chains set tip_height = 1',
  'delete from freezes',
  'update fee_rates set rate = 1',
  'select from audit_log',
  'create table his (x int)',
]

for (const [role, db, statements] of [
  ['server', server, SERVERS_REFUSED],
  ['signer', signer, SIGNERS_REFUSED],
] as const)
  for (const statement of statements)
    test(`the ${role}'s user may not: ${statement}`, async () => {
      await assert.rejects(db.query(statement), { code: '42501' })
    })

test('a server finds the schema up to date without a right to change it, and sees whose transactions run', async () => {
  assert.deepEqual(await migrate(server), [])
  await requireSight(server)
  await assert.rejects(requireSight(signer), { reason: 'unseen_transactions' })
})

const LATER = { name: '9998-later.sql', sql: 'create table later (x int)', checksum: 'later' }

test('what no list of rights names is nobody’s but the owner’s', async () => {
  await migrate(owner, [...KNOWN, LATER])
  await owner.query('insert into later values (1)')
  for (const db of [server, signer]) await assert.rejects(db.query('table later'), { code: '42501' })
})

test('an older Beck that starts on a newer one’s tables leaves their rights alone', async () => {
  // As a newer one's matrix gives them.
  const its = { name: '9999-its.sql', sql: 'create table its (x int)', checksum: 'its' }
  await migrate(owner, [...KNOWN, LATER, its])
  await owner.query(`grant select on its to ${SIGNER_ROLE}`)
  const isTheSigners = async () => {
    await signer.query('table its')
    await assert.rejects(server.query('table its'), { code: '42501' })
  }
  assert.deepEqual(await migrate(owner, [...KNOWN, LATER]), [])
  await isTheSigners()
  // A patch adds no table and may still give another right.
  await owner.query(`comment on table schema_migrations is 'grants 99.0.0 0123456789abcdef'`)
  await migrate(owner, [...KNOWN, LATER, its])
  await isTheSigners()
  await owner.query(`comment on table schema_migrations is 'grants 0.0.1 0123456789abcdef'`)
  await migrate(owner, [...KNOWN, LATER, its])
  await assert.rejects(signer.query('table its'), { code: '42501' })
})
