/** What the workers of a simulated process do in their turn: the house's own flows, a bounded number of times. */

import { StaleLease, takeLease } from '../../src/chains/chain-progress.sql.ts'
import { OutsideFailure, Refusal } from '../../src/core/errors.ts'
import { closeNextDay } from '../../src/flows/balance/close-day.ts'
import { markWindowsOver } from '../../src/flows/payments/windows-over.sql.ts'
import { refreshFeeRates } from '../../src/flows/treasury/tend-senders.ts'
import { observeChain } from '../../src/flows/watching/observe-chain.ts'
import { broadcastSigned } from '../../src/flows/withdrawals/broadcast-withdrawal.ts'
import { failRefused } from '../../src/flows/withdrawals/fail-withdrawal.ts'
import { signerTurn } from '../../src/signer/signer.ts'
import { pollPayouts } from '../../src/workers/pay-out.ts'
import { settleNext } from '../../src/workers/settle.ts'
import type { Process, World } from './world.ts'

export async function look(process: Process, world: World): Promise<void> {
  const { gateway, port } = process
  await process.verify()
  process.lease ??= await takeLease(gateway.db, world.chain, process.name)
  if (!process.lease) return
  try {
    for (let turn = 0; turn < 4 && (await observeChain(gateway, port, process.lease)).behind; turn++);
  } catch (error) {
    if (error instanceof StaleLease) process.lease = null
    throw error
  }
}

export async function settle({ gateway, verify }: Process): Promise<void> {
  await verify()
  while (await settleNext(gateway));
}

export async function expire(process: Process): Promise<void> {
  await process.verify()
  await process.gateway.db.transaction((tx) => markWindowsOver(tx, 100))
  await settle(process)
}

/** @returns Whether there was a day to close. */
export async function closeDay({ gateway, verify }: Process): Promise<boolean> {
  await verify()
  return closeNextDay(gateway)
}

export async function sign({ signer, maySign, hasSigned }: Process): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    const era = await maySign()
    if (era === null) return
    const more = await signerTurn({ ...signer, era })
    hasSigned(era)
    if (!more) return
  }
}

export async function payOut({ gateway, port, prove, verify }: Process): Promise<void> {
  await verify()
  if (gateway.stopped?.()) return
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
