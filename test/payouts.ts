/** A signer and a payer for tests that tell stories: each call is one turn, in this process. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { ChainPort } from '../src/chains/chain.ts'
import { type ChainName, isSimulated } from '../src/core/assets.ts'
import { SILENT } from '../src/core/log.ts'
import type { Gateway } from '../src/flows/gateway.ts'
import { refreshFeeRates } from '../src/flows/treasury/tend-senders.ts'
import { broadcastSigned } from '../src/flows/withdrawals/broadcast-withdrawal.ts'
import { failRefused } from '../src/flows/withdrawals/fail-withdrawal.ts'
import { rehearsePayouts } from '../src/flows/withdrawals/rehearse-payouts.ts'
import { Approvals } from '../src/signer/approvals/approvals.ts'
import { openJournal } from '../src/signer/journal.ts'
import { type Signer, signerTurn } from '../src/signer/signer.ts'
import { chainKeys, type Vault } from '../src/signer/vault.ts'
import type { NetworkRates } from '../src/treasury/fees.ts'
import { fillAddressPool } from '../src/wallets/address-pool.sql.ts'
import { pollPayouts } from '../src/workers/pay-out.ts'
import { TEMPLATE_CHANGE, TEST_SECRETS, testMode, testRoot } from './wallet.ts'

/** Of a network whose node knows them, or may guess. */
export async function feeRates(gateway: Gateway, port: ChainPort): Promise<NetworkRates> {
  const rates = await refreshFeeRates(gateway, port)
  assert.ok(rates)
  return rates
}

/** A signer with the test seed's keys and a journal of its own. */
export async function testSigner(
  gateway: Gateway,
  chains: readonly ChainName[],
  options: { config?: Partial<Signer['config']>; folder?: string } = {},
): Promise<Signer> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'beck-signer-')))
  const journal = await openJournal(join(folder, 'journal'))
  const approvals = await Approvals.open(folder, chains.some(isSimulated) ? 'test' : 'live')
  after(async () => {
    await journal.close()
    await approvals.close()
    await rm(folder, { recursive: true, force: true })
  })
  const vault: Vault = new Map(chains.map((chain) => [chain, chainKeys(testRoot, chain, testMode(chain))]))
  const config = {
    limits: {},
    allowlistWaitMs: null,
    folder,
    confirmations: gateway.settings.confirmations,
    tokens: { USDC: '', USDT: '' },
    modes: { bitcoin: testMode('bitcoin'), litecoin: testMode('litecoin'), ethereum: testMode('ethereum') },
    ...options.config,
  }
  return { db: gateway.db, secrets: TEST_SECRETS, journal, approvals, config, vault, log: SILENT }
}

/** Signs everything that can be signed now, however slowly. */
export async function signAll(signer: Signer): Promise<void> {
  while (await signerTurn({ scanMs: 600_000, ...signer }));
}

/** One turn of the payer, whatever it did last. */
export async function payOnce(gateway: Gateway, port: ChainPort): Promise<void> {
  await failRefused(gateway)
  const rates = await refreshFeeRates(gateway, port)
  await broadcastSigned(gateway, port)
  if (rates) await rehearsePayouts(gateway, port, rates)
  await pollPayouts(gateway, port, rates)
  await fillAddressPool(gateway.db, gateway.secrets, { fresh: 4, change: TEMPLATE_CHANGE })
}
