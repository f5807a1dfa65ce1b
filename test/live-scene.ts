/** A live account and a signer over a database of the test's own: no node is needed to sign. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Account } from '../src/accounts/account.ts'
import type { Asset, ChainName } from '../src/core/assets.ts'
import { newId } from '../src/core/ids.ts'
import { SERVER_ROLE, SIGNER_ROLE } from '../src/db/grants.ts'
import { requestWithdrawal } from '../src/flows/withdrawals/request-withdrawal.ts'
import { post } from '../src/ledger/post.sql.ts'
import type { SignedEntry } from '../src/signer/journal.ts'
import { type Signer, signerTurn } from '../src/signer/signer.ts'
import { insertWithdrawal } from '../src/withdrawals/insert-withdrawal.sql.ts'
import { holdCause, requestMacParts, type Withdrawal } from '../src/withdrawals/withdrawal.ts'
import { findWithdrawal } from '../src/withdrawals/withdrawals.sql.ts'
import { databaseAs } from './database.ts'
import { type TestGateway, testAccount, testCause, testGateway } from './gateway.ts'
import { testSigner } from './payouts.ts'

/** Where an honest merchant is paid. */
export const OURS = 'bcrt1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qzf4jry'
export const TOKENS = {
  USDC: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  USDT: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
}
export const COIN = 100_000_000n

export interface Scene {
  readonly gateway: TestGateway
  readonly account: Account
  readonly signer: Signer
  /** Anything at all, as the database's owner; as the server's role where the users are apart. */
  sql(text: string, values?: readonly unknown[]): Promise<{ rowCount: number }>
  request(amount: string, destination?: string): Promise<Withdrawal>
  now(withdrawal: Withdrawal): Promise<Withdrawal>
  /** A withdrawal that he wrote himself with the server's key, and a hold for it. */
  invent(chain: ChainName, asset: Asset, netAtoms: bigint, destination: string): Promise<void>
  /** Everything that was ever signed, from the signer's own journal. */
  signed(): Promise<SignedEntry[]>
}

/** A live account with a hundred coins of bitcoin and a full hot wallet; no node is needed to sign. */
export async function openScene(
  config: Partial<Signer['config']> = {},
  options: { readonly users?: 'one' | 'apart' } = {},
): Promise<Scene> {
  const gateway = await testGateway()
  const scene = await setScene(gateway, config)
  if (options.users !== 'apart') return scene
  const server = await databaseAs(gateway.db.url, SERVER_ROLE)
  const signerDb = await databaseAs(gateway.db.url, SIGNER_ROLE)
  return sceneOn({ ...gateway, db: server }, scene.account, { ...scene.signer, db: signerDb })
}

async function setScene(gateway: TestGateway, config: Partial<Signer['config']>): Promise<Scene> {
  const { db } = gateway
  const account = await testAccount(gateway, 'live')
  const signer = await testSigner(gateway, ['bitcoin', 'ethereum'], { config: { tokens: TOKENS, ...config } })
  const sql: Scene['sql'] = (text, values) => db.query(text, values)
  for (const [chain, identity, asset] of [
    ['bitcoin', 'regtest', 'BTC'],
    ['ethereum', '31337:0x00', 'ETH'],
  ])
    await sql(
      `insert into chains (chain, native_asset, identity, tip_height, tip_hash, tip_time) values ($1, $3, $2, 1000, 'tip', now())`,
      [chain, identity, asset],
    )
  await sql(
    `insert into utxos (chain, txid, output_index, lookup, atoms, block_height)
     select 'bitcoin', encode(sha256(convert_to(n::text, 'UTF8')), 'hex'), 0, a.lookup, $1::numeric, 900
     from generate_series(1, 100) n,
       (select lookup from addresses where chain = 'bitcoin' and branch = 0 order by position limit 1) a`,
    [COIN],
  )
  const hot = signer.vault.get('ethereum')?.hotWallet.address
  for (const asset of ['ETH', 'USDC', 'USDT'])
    await sql(
      `insert into account_balances (chain, address, asset, atoms, seen_height) values ('ethereum', $1, $2, $3, 1000)`,
      [hot, asset, 10n ** 24n],
    )
  await sql(`insert into nonces (chain, sender, next) values ('ethereum', $1, 0)`, [hot])
  await sql(
    `insert into fee_rates (chain, rate, priority_rate, seen_at)
     values ('bitcoin', 10000, 0, now()), ('ethereum', 1000000000, 1000000, now())`,
  )
  await db.transaction((tx) =>
    post(tx, {
      accountId: account.id,
      chain: 'bitcoin',
      cause: testCause('deposits'),
      transfers: [{ asset: 'BTC', debit: 'wallet', credit: 'available', atoms: 100n * COIN }],
    }),
  )
  return sceneOn(gateway, account, signer)
}

function sceneOn(gateway: TestGateway, account: Account, signer: Signer): Scene {
  const { db } = gateway
  return {
    gateway,
    account,
    signer,
    sql: (text, values) => db.query(text, values),
    request: (amount, destination = OURS) =>
      db.transaction((tx) =>
        requestWithdrawal(gateway, tx, account, { asset: 'BTC', amount, destination, askedBy: 'unknown' }),
      ),
    async now({ accountId, id }) {
      const found = await findWithdrawal(db, accountId, id)
      assert(found)
      return found
    },
    async invent(chain, asset, netAtoms, destination) {
      const request = {
        accountId: account.id,
        id: newId('wd'),
        kind: 'payout',
        paymentId: null,
        chain,
        asset,
        amountAtoms: netAtoms + 2n,
        feeAtoms: 1n,
        networkFeeAtoms: 1n,
        netAtoms,
        destination,
        askedBy: 'unknown',
      } as const
      await db.transaction(async (tx) => {
        const take = { asset, debit: 'available', credit: 'held', atoms: request.amountAtoms } as const
        const give = { asset, debit: 'wallet', credit: 'available', atoms: request.amountAtoms } as const
        await post(tx, { accountId: account.id, chain, cause: testCause(request.id), transfers: [give] })
        await post(tx, { accountId: account.id, chain, cause: holdCause(request.id), transfers: [take] })
        await insertWithdrawal(tx, request, gateway.secrets.mac('withdrawal', requestMacParts(request)))
      })
    },
    async signed() {
      const text = await readFile(join(signer.config.folder, 'journal'), 'utf8')
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line.slice(0, line.lastIndexOf(' '))))
        .filter(({ fact }) => fact === 'signed')
        .map(({ entry }) => entry)
    },
  }
}

/** The database forgets all that was signed, as a restored one does, and the signer takes a turn. @returns What it gave back. */
export async function forgetAndTurn({ signer, sql }: Scene): Promise<number> {
  await sql('delete from signed_payouts')
  await sql('update utxos set reserved_by = null')
  await sql('delete from signed_transactions')
  await sql('update withdrawals set signing_since = null')
  let givenBack = 0
  const log = {
    ...signer.log,
    error() {
      givenBack += 1
    },
  }
  await signerTurn({ ...signer, log })
  return givenBack
}
