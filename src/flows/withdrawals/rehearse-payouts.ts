/**
 * Asking the node whether what is requested would succeed, before the signer signs it: what must revert the signer refuses, so
 * that it costs nobody any gas and gives its whole hold back. Only he may: in a database that was restored it may be paid
 * already, as his journal alone knows. He signs nothing on Ethereum that no node said yes to within the last minutes. A node
 * that does not answer, or can not tell, says no more than that: the withdrawal waits, as it would to be sent.
 *
 * What becomes impossible between the answer and the block still reverts; then its gas is kept (confirm-withdrawal.ts).
 */
import type { ChainPort } from '../../chains/chain.ts'
import { showId } from '../../core/ids.ts'
import { gasPrice, type NetworkRates, payoutGasLimit } from '../../treasury/fees.ts'
import { scheduleOf } from '../../treasury/gas.ts'
import { listUnrehearsed, noteRehearsal } from '../../withdrawals/rehearsals.sql.ts'
import type { Gateway } from '../gateway.ts'
import { hotWalletOf } from '../treasury/tend-senders.ts'

const ASKED_PER_TURN = 50

/** @returns How many can be signed now. */
export async function rehearsePayouts(
  gateway: Gateway,
  port: ChainPort,
  rates: NetworkRates,
): Promise<number> {
  if (!port.rehearse) return 0
  const { db, log } = gateway
  const { chain } = port
  const price = gasPrice(rates)
  const asked = (await listUnrehearsed(db, chain, ASKED_PER_TURN)).map((request) => ({
    request,
    gasMax: payoutGasLimit(request, price, scheduleOf(rates)),
  }))
  const from = asked.length > 0 ? await hotWalletOf(gateway, chain) : null
  if (from === null) return 0
  const answers = await port.rehearse(
    asked.map(({ request, gasMax }) => ({
      from,
      asset: request.asset,
      to: request.destination,
      atoms: request.netAtoms,
      gasMax,
    })),
  )
  let ready = 0
  for (const [position, { request, gasMax }] of asked.entries()) {
    const answer = answers[position]
    const withdrawal = showId('wd', request.id)
    if (answer?.kind === 'reverts')
      log.warn(
        { chain, withdrawal, reason: answer.reason },
        'a withdrawal would revert: it is not to be signed',
      )
    if (answer?.kind === 'unclear')
      log.warn(
        { chain, withdrawal, reason: answer.reason },
        'the node can not tell whether a withdrawal would succeed',
      )
    const said = answer?.kind === 'succeeds' || answer?.kind === 'reverts' ? answer.kind : 'unclear'
    await noteRehearsal(db, request, said, gasMax)
    if (said === 'succeeds') ready += 1
  }
  return ready
}
