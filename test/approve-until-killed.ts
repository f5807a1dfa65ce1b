/**
 * The part of a server that takes what people ask for and approve, as a process of its own for tests that kill it:
 * `node approve-until-killed.ts DATABASE_URL ACCOUNT_ID`. What is done comes over its IPC channel.
 */
import { findAccount } from '../src/accounts/accounts.sql.ts'
import { crashPoint } from '../src/core/crash-point.ts'
import { invariant } from '../src/core/errors.ts'
import type { AccountId } from '../src/core/ids.ts'
import { openDatabase } from '../src/db/database.ts'
import { type Act, doAct } from './approval-acts.ts'
import { gatewayOn } from './gateway-on.ts'
import { TEST_SECRETS } from './wallet.ts'

const [url = '', accountId = ''] = process.argv.slice(2)
const db = openDatabase({ url, connectionsMax: 2 })
const gateway = gatewayOn(db, TEST_SECRETS)
const account = await findAccount(db, accountId as AccountId)
invariant(account, 'the account is there')

process.on('message', async (act: Act) => {
  await db.transaction((tx) => doAct(gateway, tx, account, act))
  crashPoint('committed')
  process.send?.('done')
})
process.on('disconnect', () => process.exit())
