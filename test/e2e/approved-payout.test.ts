/**
 * Payouts that nobody makes alone, end to end: people with passkeys in profiles of their own, in real Chromium, on a whole Beck with its
 * signer, and money that leaves on a real Litecoin node and on Anvil. What one asks for waits until others have approved it.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import type { ReleasedBy } from '../../src/treasury/signed-entry.ts'
import { startAnvil } from '../anvil.ts'
import { giveAuthenticator, startBrowser } from '../browser.ts'
import type { Answer } from '../installation.ts'
import { startNode } from '../litecoind.ts'
import { liveInstallation } from '../live-installation.ts'
import { until } from '../wait-for.ts'

/** Far longer than anything takes, on a machine that does much else. */
const LIMIT_MS = 120_000
const ETHER = 10n ** 18n

const [node, anvil] = await Promise.all([startNode({ chain: 'litecoin' }), startAnvil()])
const { start, beck, openAccount, dataDir } = await liveInstallation({
  LITECOIN_RPC_URL: node.rpcUrl,
  LITECOIN_NETWORK: 'regtest',
  ETHEREUM_RPC_URL: anvil.url,
  ETHEREUM_WS_URL: anvil.wsUrl,
  ETHEREUM_NETWORK: 'dev',
  USDC_CONTRACT: await anvil.deploy('UsdCoin'),
  USDT_CONTRACT: await anvil.deploy('TetherToken'),
  BECK_CONFIRMATIONS: 'ETH=3,USDC=3,USDT=3',
  BECK_SIGNER_LIMITS: 'LTC=tx:100,day:500;ETH=tx:1,day:5',
})
const running = await start()
const call = await openAccount()
await beck('wallet', 'init')
const { wallets } = await beck('wallet', 'show')
const hotWallet: string = wallets.find((wallet: Answer) => wallet.chain === 'ethereum').hot_wallet
await anvil.send({ to: hotWallet, value: ETHER })
const browser = await startBrowser()

interface Somebody {
  readonly page: Page
  /** Where the account's pages begin. */
  readonly home: string
  /** Ended, it would take the passkey along. */
  readonly devtools: CDPSession
}

/** Invited, and signed in with a passkey, in a profile of his own. */
async function somebody(name: string, role: 'owner' | 'admin' | 'finance'): Promise<Somebody> {
  const email = `${role}@example.com`
  const { link } = await beck('users', 'invite', email, '--account', call.accountId, '--role', role)
  const context = await browser.newContext()
  context.setDefaultTimeout(LIMIT_MS)
  const page = await context.newPage()
  const devtools = await giveAuthenticator(page)
  await page.goto(link)
  await page.fill('#name', name)
  await page.click('text=Continue with a passkey')
  await page.waitForSelector('ol.codes')
  return { page, devtools, home: `${new URL(link).origin}/dashboard/${call.accountId}` }
}

const ada = await somebody('Ada Lovelace', 'owner')
const bob = await somebody('Bob Miller', 'finance')
const cid = await somebody('Cid Ngo', 'admin')
const { home } = ada

/** Sends a form, and touches the passkey where it is to be confirmed. @returns Once what it leads to is there. */
async function submit({ page }: Somebody, button: string, leadsTo: string): Promise<void> {
  await page.click(`button:has-text("${button}")`)
  await page.waitForSelector(`${leadsTo}, form.passkey button:has-text("Confirm")`)
  if ((await page.locator(leadsTo).count()) === 0) {
    await page.click('form.passkey button:has-text("Confirm")')
    await page.waitForSelector(leadsTo)
  }
}

/** Looks at a request, and touches the passkey. */
async function approve({ page }: Somebody, request: string): Promise<void> {
  await page.goto(request)
  await page.click('button:has-text("Approve with passkey")')
  await page.waitForURL(/[?&]done=approved/)
}

/** The signer has checked so many approvals of a request. */
async function areCounted({ page }: Somebody, request: string, count: number): Promise<void> {
  await until('the signer has looked at the approvals', async () => {
    await page.goto(request)
    return (await page.locator('.badge:has-text("counts")').count()) === count
  })
}

/** The signer takes a request, as its page tells whoever looks at it. */
async function isTaken({ page }: Somebody): Promise<void> {
  await page.waitForSelector('h1 .badge:has-text("approved")')
}

/** Asks for a withdrawal on the page. @returns Its id, and the page on which others decide about it. */
async function ask(
  asset: string,
  amount: string,
  destination: string,
): Promise<{ readonly id: string; readonly request: string }> {
  const { page } = ada
  await page.goto(`${home}/withdrawals/new`)
  await page.selectOption('#asset', asset)
  await page.fill('#amount', amount)
  await page.fill('#destination_address', destination)
  await submit(ada, 'Go on', '.notice:has-text("It waits for approvals")')
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  await page.click('text=See who is awaited')
  await page.waitForSelector('h2:has-text("Your decision")')
  assert.equal(
    await page.locator('button:has-text("Approve")').count(),
    0,
    'nobody approves what he asked for',
  )
  return { id, request: `${new URL(page.url()).origin}${new URL(page.url()).pathname}` }
}

const withdrawalOf = async (id: string): Promise<Answer> => (await call('GET', `/withdrawals/${id}`)).data

const balanceOf = async (asset: string): Promise<Answer> =>
  (await call('GET', '/balance')).data.assets.find((each: Answer) => each.asset === asset)

/** Approvals in the journal, beside the transaction that they released. */
async function releasedBy(txid: string): Promise<readonly ReleasedBy[]> {
  const journal = await readFile(join(dataDir, 'signer', 'journal'), 'utf8')
  const entries = journal
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line.slice(0, line.lastIndexOf(' '))))
  return entries.find(({ fact, entry }) => fact === 'signed' && entry.txid === txid)?.entry.approvals ?? []
}

interface Coin {
  readonly asset: 'LTC' | 'ETH'
  /** Above the bound. */
  readonly amount: string
  readonly approvers: readonly Somebody[]
  readonly depth: number
  mine(count: number): Promise<void>
  pay(address: string, deposit: Answer): Promise<unknown>
  newDestination(): Promise<string>
  /** What a transaction that waits for its block pays the destination, in atoms. */
  paidBy(txid: string, destination: string): Promise<bigint>
  /** What the destination has, in atoms: in blocks alone, or with what waits for its block. */
  has(destination: string, where: 'mined' | 'known'): Promise<bigint>
}

const atomsOf = (amount: number): bigint => BigInt(Math.round(amount * 1e8))

interface Output {
  readonly value: number
  readonly scriptPubKey: { readonly addresses?: readonly string[]; readonly address?: string }
}

const COINS: readonly Coin[] = [
  {
    asset: 'LTC',
    amount: '2.5',
    approvers: [bob],
    depth: 6,
    mine: async (count) => void (await node.mine(count)),
    pay: (address, { expected_amount }) => node.pay([[address, expected_amount]]),
    newDestination: () => node.call('getnewaddress', '', 'bech32'),
    async paidBy(txid, destination) {
      assert.deepEqual(await node.call('getrawmempool'), [txid])
      const { vout } = await node.call<{ vout: Output[] }>('getrawtransaction', txid, true)
      const there = vout.filter(({ scriptPubKey: { address, addresses } }) =>
        [address, ...(addresses ?? [])].includes(destination),
      )
      return there.reduce((sum, { value }) => sum + atomsOf(value), 0n)
    },
    has: async (destination, where) =>
      atomsOf(await node.call<number>('getreceivedbyaddress', destination, where === 'mined' ? 1 : 0)),
  },
  {
    asset: 'ETH',
    amount: '0.1',
    approvers: [bob, cid],
    depth: 3,
    mine: (count) => anvil.mine(count),
    pay: (to, { expected_amount_atoms }) => anvil.send({ to, value: BigInt(expected_amount_atoms) }),
    newDestination: async () => `0x${'5e'.repeat(20)}`,
    async paidBy(txid, destination) {
      const sent = await anvil.rpc<{ to: string; value: string }>('eth_getTransactionByHash', [txid])
      assert.equal(sent.to, destination)
      return BigInt(sent.value)
    },
    has: async (destination, where) =>
      BigInt(
        await anvil.rpc<string>('eth_getBalance', [destination, where === 'mined' ? 'latest' : 'pending']),
      ),
  },
]

test('the operator pins whose fingerprints he was read, and the signer lets them count', async () => {
  for (const { page } of [ada, bob, cid]) {
    await page.goto(`${home}/approvers`)
    const { added } = await beck(
      'wallet',
      'approvers',
      'add',
      await page.locator('.exact').innerText(),
      '--yes',
    )
    assert.equal(added.account, call.accountId)
  }
  for (const { page } of [ada, bob, cid])
    await until('the passkey counts', async () => {
      await page.goto(`${home}/approvers`)
      return (await page.locator('.device .badge:has-text("counts")').count()) === 1
    })
})

test('one asks for a policy, the others approve it with their passkeys, and the signer takes it into force', async () => {
  const { page } = ada
  await page.goto(`${home}/policy`)
  await page.fill('#from_LTC', '1')
  await page.selectOption('#approvals_LTC', '1')
  await page.fill('#from_ETH', '0.05')
  await page.selectOption('#approvals_ETH', '2')
  await submit(ada, 'Ask for this policy', 'h1:has-text("Change the policy")')
  const request = page.url().split('?')[0] ?? ''
  await approve(bob, request)
  await areCounted(bob, request, 1)
  await page.goto(`${home}/policy`)
  assert.equal(await page.locator('text=No policy is in force').count(), 1, 'one approval is not two')
  await approve(cid, request)
  await isTaken(cid)
  await page.goto(`${home}/policy`)
  await page.waitForSelector('text=number 1')
})

for (const coin of COINS) {
  const { asset, amount, approvers, depth } = coin

  test(`${asset} above the bound leaves when others have approved it, to the atom; what they decline stays`, async () => {
    await earn(coin)
    const destination = await coin.newDestination()
    const { id, request } = await ask(asset, amount, destination)
    for (const [given, who] of approvers.entries()) {
      await areCounted(who, request, given)
      await until('it waits', async () => (await withdrawalOf(id)).waiting_for === 'approval')
      assert.equal(await coin.has(destination, 'known'), 0n, 'nothing has left')
      await approve(who, request)
    }
    await until('it is broadcast', async () => (await withdrawalOf(id)).status === 'broadcast')
    const { tx_hash: txid, net_atoms: net } = await withdrawalOf(id)
    assert.equal(await coin.paidBy(txid, destination), BigInt(net))
    const approvals = await releasedBy(txid)
    assert.equal(approvals.length, approvers.length)
    for (const { statement } of approvals)
      for (const term of [id, destination, net]) assert.ok(statement.includes(term), statement)
    await until('it is completed', async () => {
      await coin.mine(depth)
      return (await withdrawalOf(id)).status === 'completed'
    })
    assert.equal(await coin.has(destination, 'mined'), BigInt(net))

    const before = await balanceOf(asset)
    const declined = await ask(asset, amount, destination)
    assert.notDeepEqual(await balanceOf(asset), before, 'it is held')
    await bob.page.goto(declined.request)
    await bob.page.click('button:has-text("Decline")')
    await bob.page.waitForSelector('text=Declined by a member of the team')
    await until('it is given back', async () => (await withdrawalOf(declined.id)).status === 'failed')
    assert.equal((await withdrawalOf(declined.id)).failure_reason, 'declined')
    assert.deepEqual(await balanceOf(asset), before)
    assert.equal(await coin.has(destination, 'known'), BigInt(net))
  })
}

test('the books agree with the chains', async () => {
  const proof = await beck('reconcile')
  assert.deepEqual(proof.differences, [], JSON.stringify(proof))
  await running.stop()
})

/** A payment of 650 dollars, paid and settled. */
async function earn(coin: Coin): Promise<void> {
  const order = { asset: coin.asset, fiat_amount: 650 }
  let created = await call('POST', '/payments', order)
  await until('the wallet is picked up', async () => {
    if (created.status === 201) return true
    await coin.mine(1)
    created = await call('POST', '/payments', order)
    return created.status === 201
  })
  const { id, deposit } = created.data
  await coin.pay(deposit.address, deposit)
  await until('the payment is completed', async () => {
    await coin.mine(1)
    return (await call('GET', `/payments/${id}`)).data.status === 'completed'
  })
}
