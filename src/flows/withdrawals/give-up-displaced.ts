/**
 * Chains with accounts: another transaction used a nonce that one of ours was signed with. The operator sent something from
 * the hot wallet by another program; the database and the journal were restored, and something that was sent before is mined;
 * or a batch that came back after a reorganisation authorised its sweeps with it. What we signed under that nonce can never
 * enter the chain: it ends, so that nothing waits for it.
 */
import { raiseAlert } from '../../alerts/alerts.sql.ts'
import type { ChainPort, NonceUse, Output } from '../../chains/chain.ts'
import { lockPayments } from '../../payments/payments.sql.ts'
import { isNonceAwaited, listOverdue, type OverdueSet } from '../../treasury/impossible.sql.ts'
import { isOpen } from '../../treasury/signed-transaction.ts'
import { lockReplacementSet } from '../../treasury/signed-transactions.sql.ts'
import { wantDelegateAgain } from '../../treasury/sweep-delegates.sql.ts'
import { finishSweeps } from '../../treasury/sweeps.sql.ts'
import type { Withdrawal } from '../../withdrawals/withdrawal.ts'
import { lockPaidBy } from '../../withdrawals/withdrawals.sql.ts'
import type { Gateway } from '../gateway.ts'
import { endImpossible } from './book-fee.ts'
import { fail, raiseUnsettled } from './fail-withdrawal.ts'

/** Two epochs: what Ethereum's finality is made of. Nothing is given back before that. */
const FINAL_DEPTH = 64

/** @returns How many replacement sets ended. */
export async function giveUpDisplaced(gateway: Gateway, port: ChainPort): Promise<number> {
  if (!port.findNonceUse) return 0
  const overdue = await listOverdue(gateway.db, port.chain)
  if (overdue.length === 0) return 0
  const { height } = await port.tip()
  let ended = 0
  const waiting = new Set<string>()
  for (const set of overdue) {
    // Nonces are used in their order: after one that is not, none is.
    if (waiting.has(set.sender)) continue
    const use = await port.findNonceUse(set.sender, set.nonce, height - FINAL_DEPTH + 1)
    if (use.kind === 'unused') {
      waiting.add(set.sender)
      await alertOfNonceGap(gateway, port, set)
    }
    if (use.kind === 'unclear') await raiseUnclear(gateway, port, set)
    if (use.kind !== 'used') continue
    try {
      if (await giveUp(gateway, port, set, use)) ended += 1
    } catch (error) {
      const { chain } = port
      await raiseUnsettled(
        gateway,
        `${chain}:${set.replacementSet}`,
        `transaction ${set.replacementSet} of ${chain}`,
        error,
      )
    }
  }
  return ended
}

async function giveUp(
  gateway: Gateway,
  port: ChainPort,
  { replacementSet, sender, nonce }: OverdueSet,
  { txid, block }: Extract<NonceUse, { kind: 'used' }>,
): Promise<boolean> {
  const { chain } = port
  const { transactions } = await port.readBlock(block.hash)
  const outputs = transactions.find(({ key }) => key === txid)?.outputs ?? []
  return gateway.db.transaction(async (tx) => {
    const withdrawals = await lockPaidBy(tx, chain, replacementSet)
    await lockPayments(tx, withdrawals)
    const members = await lockReplacementSet(tx, chain, replacementSet)
    // It is one of ours after all, and will be found.
    const isOurs = members.some(
      (member) => !isOpen(member.status) || member.blockHeight !== null || member.txid === txid,
    )
    if (isOurs) return false
    const said = `nonce ${nonce} of ${sender} was used by ${txid}, which is not ${replacementSet} nor a fee bump of it`
    if (withdrawals.some((withdrawal) => isPaidBy(withdrawal, outputs))) {
      const message = `${said}, and pays the same: the withdrawal is neither paid again nor given back; look into it`
      await raiseAlert(tx, {
        kind: 'payout_doubtful',
        accountId: null,
        subject: `${chain}:${replacementSet}`,
        message,
      })
      return false
    }
    await endImpossible(tx, members)
    for (const withdrawal of withdrawals) {
      // It reverted before a deep reorganisation took its block. What it kept for gas stays: the alert below names the set.
      if (withdrawal.status === 'failed') continue
      await fail(gateway, tx, withdrawal, 'impossible', 'nonce_used')
    }
    await finishSweeps(tx, chain, { txid: replacementSet, replacementSet, reverted: true })
    await wantDelegateAgain(tx, chain, replacementSet)
    const message = `${said}: transaction ${replacementSet} can never enter the chain, and what it was to do is done anew or failed`
    await raiseAlert(tx, {
      kind: 'nonce_taken',
      accountId: null,
      subject: `${chain}:${replacementSet}`,
      message,
    })
    gateway.log.error({ chain, replacementSet, txid, sender, nonce: String(nonce) }, message)
    return true
  })
}

/** Signed by a journal that is lost, most likely: whoever gave the hold back would pay twice. */
const isPaidBy = ({ destination, asset, netAtoms }: Withdrawal, outputs: readonly Output[]): boolean =>
  outputs.some(
    (output) =>
      output.asset === asset &&
      output.atoms === netAtoms &&
      Buffer.from(output.lookup).toString('hex') === destination.slice(2).toLowerCase(),
  )

async function raiseUnclear(gateway: Gateway, { chain }: ChainPort, of: OverdueSet): Promise<void> {
  await raiseAlert(gateway.db, {
    kind: 'nonce_unclear',
    accountId: null,
    subject: `${chain}:${of.replacementSet}`,
    message: `nonce ${of.nonce} of ${of.sender} was used, not by ${of.replacementSet}, and the node can not tell any more by what; let ETHEREUM_RPC_URL name an archive node until this is settled`,
  })
}

/** Nonces are used in their order: where nothing uses the next one, all that is signed with later ones waits for ever. */
async function alertOfNonceGap(gateway: Gateway, port: ChainPort, of: OverdueSet): Promise<void> {
  const { chain } = port
  const next = await port.nextNonce?.(of.sender)
  if (next === undefined || next >= of.nonce || (await isNonceAwaited(gateway.db, chain, of.sender, next)))
    return
  await raiseAlert(gateway.db, {
    kind: 'nonce_missing',
    accountId: null,
    subject: `${chain}:${of.sender}`,
    message: `${of.replacementSet} waits for nonce ${of.nonce} of ${of.sender}, whose next one is ${next}, and nothing that was signed uses that; nothing leaves this address until something does`,
  })
}
