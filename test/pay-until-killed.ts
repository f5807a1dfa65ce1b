/**
 * The part of a server that takes and pays withdrawals, as a process of its own for tests that kill it:
 * `node pay-until-killed.ts DATABASE_URL CHAIN ACCOUNT_ID FOLDER`. Withdrawals are asked for over its IPC channel.
 */
import { join } from 'node:path'
import { findAccount } from '../src/accounts/accounts.sql.ts'
import { SIMULATED_CHAINS } from '../src/chains/simulated/network.ts'
import { createSimulatedChain } from '../src/chains/simulated/simulated-chain.ts'
import { invariant } from '../src/core/errors.ts'
import type { AccountId, WithdrawalId } from '../src/core/ids.ts'
import { SILENT } from '../src/core/log.ts'
import { openDatabase } from '../src/db/database.ts'
import { openTimeMemory, TIME_FILE } from '../src/db/time-arrow.ts'
import { openTimeKeeper } from '../src/flows/recovery/keep-time.ts'
import { openToldPayments } from '../src/flows/recovery/told-payments.ts'
import { refreshFeeRates } from '../src/flows/treasury/tend-senders.ts'
import { awaitBroadcast } from '../src/flows/withdrawals/await-broadcast.ts'
import { requestWithdrawal } from '../src/flows/withdrawals/request-withdrawal.ts'
import { answerOnce, hashRequest } from '../src/http/idempotency.ts'
import { startTimeKeeper } from '../src/workers/keep-time.ts'
import { startPayer } from '../src/workers/pay-out.ts'
import { gatewayOn } from './gateway-on.ts'
import { type Answer, type Ask, KILL_CONFIRMATIONS } from './kill-protocol.ts'
import { TEST_SECRETS } from './wallet.ts'

const [url = '', chainName, accountId = '', folder = ''] = process.argv.slice(2)
const chain = SIMULATED_CHAINS.find((known) => known === chainName)
invariant(chain, `${chainName} is a simulated chain`)
const db = openDatabase({ url, connectionsMax: 6 })
const base = gatewayOn(db, TEST_SECRETS)
const memory = await openTimeMemory(join(folder, TIME_FILE))
const keeper = openTimeKeeper({
  db,
  secrets: TEST_SECRETS,
  log: SILENT,
  memory,
  told: openToldPayments(folder, memory.seen?.at ?? null),
})
const gateway = {
  ...base,
  settings: { ...base.settings, confirmations: KILL_CONFIRMATIONS },
  stopped: () => keeper.stopped(),
}
const account = await findAccount(db, accountId as AccountId)
invariant(account, 'the account is there')
startTimeKeeper(keeper, SILENT)
const port = createSimulatedChain({ db, chain })
// Nothing can be requested before a worker has said what the network charges.
await refreshFeeRates(gateway, port)
startPayer(gateway, port, { idleMs: 20 })

process.on('message', async (ask: Ask) => {
  const request = {
    accountId: account.id,
    key: ask.key,
    requestHash: hashRequest('POST', '/v1/withdrawals', ask.key),
  }
  const answer = await answerOnce(
    db,
    TEST_SECRETS,
    request,
    async (tx) => {
      const { id } = await requestWithdrawal(gateway, tx, account, { ...ask, askedBy: 'unknown' })
      if (ask.spoilt)
        await tx.query(
          'update withdrawals set fee_atoms = fee_atoms + 1, net_atoms = net_atoms - 1 where id = $1',
          [id],
        )
      return { status: 201, body: JSON.stringify({ id }) }
    },
    () => ({ status: 422, body: JSON.stringify({ id: null }) }),
  )
  const { id } = JSON.parse(answer.body) as { id: WithdrawalId | null }
  if (id) await awaitBroadcast(gateway, account.id, id)
  process.send?.({ key: ask.key, id } satisfies Answer)
})
process.on('disconnect', () => process.exit())
process.send?.('ready')
