/** Merchants: what people belong to. Each has an account to try things out, and one for real coins once it goes live. */
import { type Account, readAccountDraft, readAccountName, readCurrency } from '../../accounts/account.ts'
import { findAccount, insertAccount } from '../../accounts/accounts.sql.ts'
import { requireOpenAccount } from '../../accounts/closing.sql.ts'
import { conflict, invalidField, invariant } from '../../core/errors.ts'
import { type AccountId, type MerchantId, showId } from '../../core/ids.ts'
import type { Tx } from '../../db/database.ts'
import {
  findMerchantOfAccount,
  insertMerchant,
  knowsTimeZone,
  lockMerchant,
  type Merchant,
  putMember,
  setMerchantAccount,
  setMerchantBusiness,
} from '../../users/merchants.sql.ts'
import { type Person, recordActOf } from './person.ts'

/** The merchant that an account belongs to; made when it belongs to none yet. */
export async function merchantOfAccount(tx: Tx, account: Account): Promise<Merchant> {
  const found = await findMerchantOfAccount(tx, account.id)
  return found ?? insertMerchant(tx, { name: account.name, mode: account.mode, accountId: account.id })
}

/** A new merchant with an account to try things out, for the operator. @throws {Refusal} `invalid`. */
export async function openMerchant(
  tx: Tx,
  person: Person,
  given: {
    readonly name: string
    readonly email: string
    readonly currency: string
    readonly isMember: boolean
  },
): Promise<{ readonly merchant: Merchant; readonly account: Account }> {
  const account = await insertAccount(tx, readAccountDraft({ ...given, mode: 'test' }))
  const merchant = await insertMerchant(tx, { name: account.name, mode: 'test', accountId: account.id })
  if (given.isMember) await putMember(tx, merchant.id, person.userId, 'owner')
  await recordActOf(tx, person, {
    action: 'merchant.create',
    accountId: account.id,
    subject: showId('mer', merchant.id),
    after: { name: merchant.name },
  })
  return { merchant, account }
}

/**
 * Gives a merchant the account for real coins.
 *
 * @param currency - Its settlement currency; that of the account it was tried out with when left out.
 * @throws {Refusal} `conflict`, `already_live`; `invalid_currency`; `forbidden`, `account_closed`, of the test account.
 */
export async function goLive(tx: Tx, person: Person, id: MerchantId, currency?: string): Promise<AccountId> {
  const merchant = await lockMerchant(tx, id)
  if (merchant.liveAccountId) throw conflict('already_live', 'this merchant has a live account already')
  const test = merchant.testAccountId && (await findAccount(tx, merchant.testAccountId))
  invariant(test, 'a merchant that is not live has a test account')
  // Whom the operator closed opens nothing beside it.
  await requireOpenAccount(tx, test.id)
  const live = await insertAccount(tx, {
    name: merchant.name,
    email: test.email,
    mode: 'live',
    currency: currency === undefined ? test.currency : readCurrency(currency),
  })
  await setMerchantAccount(tx, id, 'live', live.id)
  await recordActOf(tx, person, {
    action: 'merchant.go_live',
    accountId: live.id,
    subject: showId('mer', id),
  })
  return live.id
}

/** @throws {Refusal} `invalid`, naming the field. */
export async function changeBusiness(
  tx: Tx,
  person: Person,
  id: MerchantId,
  accountId: AccountId,
  given: {
    readonly name: string
    readonly refundBoundMinor: bigint | null
    readonly timeZone: string | null
  },
): Promise<void> {
  const merchant = await lockMerchant(tx, id)
  const name = readAccountName(given.name)
  if (given.refundBoundMinor === null)
    throw invalidField('refund_bound', 'invalid_amount', 'expected an amount of 0 or more such as 100.00')
  if (given.timeZone === null || !(await knowsTimeZone(tx, given.timeZone)))
    throw invalidField('time_zone', 'invalid_time_zone', 'expected a time zone such as Europe/Berlin')
  const next = { name, timeZone: given.timeZone, refundBoundMinor: given.refundBoundMinor }
  await setMerchantBusiness(tx, id, next)
  const facts = (of: typeof next) => ({
    name: of.name,
    time_zone: of.timeZone,
    refund_bound_minor: of.refundBoundMinor.toString(),
  })
  await recordActOf(tx, person, {
    action: 'merchant.change',
    accountId,
    subject: showId('mer', id),
    before: facts(merchant),
    after: facts(next),
  })
}
