/** What the workers of a simulated process do in their turn: the house's own flows, a bounded number of times. */

import { StaleLease, takeLease } from '../../src/chains/chain-progress.sql.ts'
import { OutsideFailure, Refusal } from '../../src/core/errors.ts'
import { refreshFeeRates } from '../../src/flows/treasury/tend-senders.ts'
import { observeChain } from '../../src/flows/watching/observe-chain.ts'
import { broadcastSigned } from '../../src/flows/withdrawals/broadcast-withdrawal.ts'
import { failRefused } from '../../src/flows/withdrawals/fail-withdrawal.ts'
import { markWindowsOver } from '../../src/payments/payments.sql.ts'
import { signerTurn } from '../../src/signer/signer.ts'
import { pollPayouts } from '../../src/workers/pay-out.ts'
import { settleNext } from '../../src/workers/settle.ts'
import type { Process, World } from './world.ts'

export async function look(process: Process, world: World): Promise<void> {
  const { gateway, port } = process
  process.lease ??= await takeLease(gateway.db, world.chain, process.name)
  if (!process.lease) return
  try {
    for (let turn = 0; turn < 4 && (await observeChain(gateway, port, process.lease)).behind; turn++);
  } catch (error) {
    if (error instanceof StaleLease) process.lease = null
    throw error
  }
}

export async function settle({ gateway }: Process): Promise<void> {
  while (await settleNext(gateway));
}

export async function expire(process: Process): Promise<void> {
  await process.gateway.db.transaction((tx) => markWindowsOver(tx, 100))
  await settle(process)
}

export async function sign({ signer }: Process): Promise<void> {
  for (let turn = 0; turn < 4 && (await signerTurn(signer)); turn++);
}

export async function payOut({ gateway, port, prove }: Process): Promise<void> {
  await failRefused(gateway)
  const rates = await refreshFeeRates(gateway, port)
  await broadcastSigned(gateway, port)
  await prove()
  await pollPayouts(gateway, port, rates)
}

/** Refusals and failures outside are part of life, and so is the end of a process; nothing else is. */
export async function survive<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Refusal || error instanceof OutsideFailure) return null
    if (error instanceof Error && error.name === 'Crash') return null
    throw error
  }
}
