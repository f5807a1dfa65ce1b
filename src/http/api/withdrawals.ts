/** Withdrawals: a balance leaves for a wallet of the merchant's choice, a payment's held funds for the buyer's. */
import type { Static } from 'typebox'
import type { Account } from '../../accounts/account.ts'
import { APPROVAL_STATUSES } from '../../approvals/approval-request.ts'
import { readId, type WithdrawalId } from '../../core/ids.ts'
import { formatAmount } from '../../core/money.ts'
import type { Queryable } from '../../db/database.ts'
import { approvalsOfWithdrawals } from '../../flows/approvals/approval-view.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { failWhereAsked } from '../../flows/sandbox.ts'
import { awaitBroadcast } from '../../flows/withdrawals/await-broadcast.ts'
import { cancelWithdrawal, withdrawalNotFound } from '../../flows/withdrawals/cancel-withdrawal.ts'
import { quoteWithdrawal } from '../../flows/withdrawals/price-withdrawal.ts'
import { refundPayment } from '../../flows/withdrawals/refund-payment.ts'
import { requestWithdrawal } from '../../flows/withdrawals/request-withdrawal.ts'
import {
  FAILURE_REASONS,
  WITHDRAWAL_KINDS,
  WITHDRAWAL_STATUSES,
  type Withdrawal,
} from '../../withdrawals/withdrawal.ts'
import { WAITING_REASONS, withdrawalResource } from '../../withdrawals/withdrawal-resource.ts'
import { findWithdrawal, listRecentWithdrawals } from '../../withdrawals/withdrawals.sql.ts'
import { type Route, read, write } from '../route.ts'
import { AssetName, Fields, Id, NetworkName, Nullable, OneOf, PathId, Timestamp } from '../schemas.ts'
import { Type } from '../type.ts'
import { paymentId } from './payments.ts'

const HISTORY = 100

const Atoms = (description: string) => Type.String({ description: `${description}, in the smallest unit` })

const createdFields = {
  id: Id('wd'),
  status: OneOf(WITHDRAWAL_STATUSES),
  asset: AssetName,
  network: NetworkName,
  amount_atoms: Atoms('gross amount debited'),
  fee_atoms: Atoms('service payout fee'),
  net_atoms: Atoms('amount sent on-chain: the amount minus payout fee and network fee'),
  destination_address: Type.String(),
  tx_hash: Nullable(Type.String({ description: 'once broadcast; a fee bump changes it' })),
  created_at: Timestamp('request time'),
}

const CreatedWithdrawal = Fields(createdFields, { title: 'CreatedWithdrawal' })

const ListedWithdrawal = Fields(
  {
    ...createdFields,
    completed_at: Nullable(Type.String({ format: 'date-time', description: 'on-chain confirmation time' })),
    kind: OneOf(WITHDRAWAL_KINDS, {
      description: 'a refund returns held funds of a payment (an addition of Beck)',
    }),
    payment_id: Nullable(
      Type.String({ description: 'the payment that a refund belongs to (an addition of Beck)' }),
    ),
    failure_reason: Nullable(
      OneOf(FAILURE_REASONS, {
        description:
          'why a failed one was not paid, or not at first (an addition of Beck); docs/payments.md says what each means, and there may be more in time',
      }),
    ),
    waiting_for: Nullable(
      OneOf(WAITING_REASONS, {
        description:
          'what a withdrawal waits for (an addition of Beck): `signature` (the signer comes to it within a second), `approval` (other people of the merchant), `coins` or `confirmations` (of what will pay it), `network_fee` (until the network asks for less), `limit`, `allowlist` or `frozen` (the operator), `cancellation`, `block`; null at its end',
      }),
    ),
    approval: Nullable(
      Fields({
        status: OneOf(APPROVAL_STATUSES, {
          description: '`open` waits for people; `approved`: the signer has taken it; the rest is over',
        }),
        needed: Type.Integer({ description: 'approvals that it was asked for, 1 or 2' }),
        given: Type.Integer(),
        valid_until: Timestamp('until then it can be approved; then it fails'),
        requested_by: Nullable(Type.String({ description: 'the name of the person or the key' })),
        awaiting: Type.Array(Type.String(), { description: 'names of those whose approval counts' }),
      }),
    ),
  },
  { title: 'Withdrawal' },
)

const Amount = Type.String({ description: 'decimal of the coin, such as `"0.015"`', maxLength: 80 })
const DestinationAddress = Type.String({
  description: "a wallet on the coin's network that is not this gateway's own",
  minLength: 1,
  maxLength: 128,
})

const Order = Fields({
  asset: AssetName,
  amount: Amount,
  destination_address: DestinationAddress,
})

const ORDER = {
  asset: 'LTC',
  amount: '1.5',
  destination_address: 'tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0',
} as const

const CREATED = {
  id: 'wd_01k6v3d6yqf5bbt9xgk2v7p8rm',
  status: 'requested',
  asset: 'LTC',
  network: 'litecoin',
  amount_atoms: '150000000',
  fee_atoms: '150000',
  net_atoms: '149847790',
  destination_address: ORDER.destination_address,
  tx_hash: null,
  created_at: '2026-02-03T10:15:00.000Z',
} as const

const ORDER_REFUSALS = {
  400: ['invalid_amount', 'invalid_address'],
  422: ['fee_exceeds_amount', 'below_minimum', 'destination_reverts', 'withdrawals_revert'],
  503: ['no_wallet', 'no_fee_estimate', 'no_rate'],
} as const

const LISTED = {
  ...CREATED,
  completed_at: null,
  kind: 'payout',
  payment_id: null,
  failure_reason: null,
  waiting_for: 'signature',
  approval: null,
} as const

function withdrawalId(text: string): WithdrawalId {
  const id = readId('wd', text)
  if (!id) throw withdrawalNotFound()
  return id
}

function showCreated(withdrawal: Withdrawal) {
  const {
    kind: _kind,
    payment_id: _payment,
    failure_reason: _reason,
    waiting_for: _waiting,
    completed_at: _at,
    ...shown
  } = withdrawalResource(withdrawal)
  return shown
}

type Listed = Static<typeof ListedWithdrawal>

async function showListed(
  db: Queryable,
  account: Pick<Account, 'id'>,
  withdrawals: readonly Withdrawal[],
): Promise<Listed[]> {
  const approvals = await approvalsOfWithdrawals(db, account.id, withdrawals)
  return withdrawals.map((each) => ({
    ...withdrawalResource(each),
    approval: approvals.get(each.id) ?? null,
  }))
}

async function showOne(db: Queryable, account: Pick<Account, 'id'>, withdrawal: Withdrawal): Promise<Listed> {
  const approvals = await approvalsOfWithdrawals(db, account.id, [withdrawal])
  return { ...withdrawalResource(withdrawal), approval: approvals.get(withdrawal.id) ?? null }
}

const orderOf = ({ asset, amount_atoms, destination_address }: Static<typeof CreatedWithdrawal>) => ({
  asset,
  amount_atoms,
  destination_address,
})

/** `broadcast` when the signer and a node are quick, else as it was requested. */
async function whenBroadcast(
  { gateway, account }: { readonly gateway: Gateway; readonly account: Account },
  requested: Static<typeof CreatedWithdrawal>,
): Promise<Static<typeof CreatedWithdrawal>> {
  const id = readId('wd', requested.id)
  const withdrawal = id && (await awaitBroadcast(gateway, account.id, id))
  return withdrawal ? showCreated(withdrawal) : requested
}

export const withdrawals: readonly Route[] = [
  write('POST /withdrawals', {
    scope: 'withdrawals:write',
    summary: 'Request a withdrawal',
    description:
      'Payout fee and network fee are deducted from the amount; the recipient receives the net. The answer is `broadcast` when the transaction was sent within a few seconds, else `requested`.',
    body: Order,
    status: 201,
    data: CreatedWithdrawal,
    refusals: {
      ...ORDER_REFUSALS,
      422: [...ORDER_REFUSALS[422], 'insufficient_balance', 'network_fee_too_high', 'not_on_allowlist'],
      503: [...ORDER_REFUSALS[503], 'withdrawals_frozen'],
    },
    example: { body: ORDER, data: CREATED },
    async write({ gateway, tx, account, askedBy, body, record }) {
      const withdrawal = await requestWithdrawal(gateway, tx, account, {
        asset: body.asset,
        amount: body.amount,
        destination: body.destination_address,
        askedBy,
      })
      await failWhereAsked(tx, account, withdrawal)
      const requested = showCreated(withdrawal)
      record({ action: 'withdrawal.request', subject: requested.id, after: orderOf(requested) })
      return requested
    },
    committed: ({ gateway }) => gateway.wake('pay-out'),
    settled: whenBroadcast,
  }),
  read('POST /withdrawals/quote', {
    scope: 'withdrawals:read',
    summary: 'Quote a withdrawal',
    description: 'What a withdrawal would cost now, as decimals of the coin; moves no funds.',
    body: Order,
    data: Fields({
      amount: Type.String(),
      payout_fee: Type.String(),
      network_fee: Type.String(),
      net: Type.String(),
    }),
    refusals: ORDER_REFUSALS,
    example: {
      body: ORDER,
      data: { amount: '1.5', payout_fee: '0.0015', network_fee: '0.0000221', net: '1.4984779' },
    },
    async read({ gateway, db, account, body }) {
      const cost = await quoteWithdrawal(gateway, db, account, {
        asset: body.asset,
        amount: body.amount,
        destination: body.destination_address,
      })
      const decimal = (atoms: bigint) => formatAmount(atoms, body.asset)
      return {
        amount: decimal(cost.amountAtoms),
        payout_fee: decimal(cost.feeAtoms),
        network_fee: decimal(cost.networkFeeAtoms),
        net: decimal(cost.netAtoms),
      }
    },
  }),
  read('GET /withdrawals', {
    scope: 'withdrawals:read',
    summary: 'List withdrawals',
    description: 'The 100 most recent, newest first, refunds included.',
    data: Type.Array(ListedWithdrawal, { maxItems: HISTORY }),
    example: {
      data: [LISTED],
    },
    async read({ db, account }) {
      return showListed(db, account, await listRecentWithdrawals(db, account.id, HISTORY))
    },
  }),
  read('GET /withdrawals/:id', {
    scope: 'withdrawals:read',
    summary: 'Retrieve a withdrawal',
    description: 'One withdrawal or refund, however old, with what it waits for and why it failed.',
    ours: true,
    params: PathId('wd'),
    data: ListedWithdrawal,
    refusals: { 404: ['withdrawal_not_found'] },
    example: { data: LISTED },
    async read({ db, account, params }) {
      const withdrawal = await findWithdrawal(db, account.id, withdrawalId(params.id))
      if (!withdrawal) throw withdrawalNotFound()
      return showOne(db, account, withdrawal)
    },
  }),
  write('POST /withdrawals/:id/cancel', {
    scope: 'withdrawals:write',
    summary: 'Cancel a withdrawal',
    description:
      'Until it is signed: from then on nothing is signed for it, and its amount is available again once it is `failed`, within a second while the signer runs.',
    ours: true,
    params: PathId('wd'),
    status: 200,
    data: ListedWithdrawal,
    refusals: {
      404: ['withdrawal_not_found'],
      409: ['already_signed', 'withdrawal_finished'],
    },
    example: {
      data: { ...LISTED, status: 'failed', failure_reason: 'cancelled', waiting_for: null },
    },
    async write({ tx, account, params, record }) {
      const withdrawal = await cancelWithdrawal(tx, account, withdrawalId(params.id))
      record({ action: 'withdrawal.cancel', subject: params.id })
      return showOne(tx, account, withdrawal)
    },
    committed: ({ gateway }) => gateway.wake('pay-out'),
    async settled({ gateway, account }, shown) {
      const withdrawal = await awaitBroadcast(gateway, account.id, withdrawalId(shown.id))
      return withdrawal ? showOne(gateway.db, account, withdrawal) : shown
    },
  }),
  write('POST /payments/:id/refund', {
    scope: 'withdrawals:write',
    summary: 'Refund a payment',
    description:
      'Returns what is held for an underpaid, overpaid, late or unwanted payment, once; costs the network fee only. `payment.refunded` is sent when it confirms.',
    ours: true,
    params: PathId('pay'),
    body: Fields({ destination_address: DestinationAddress, amount: Type.Optional(Amount) }),
    status: 201,
    data: CreatedWithdrawal,
    refusals: {
      ...ORDER_REFUSALS,
      404: ['payment_not_found'],
      409: ['payment_in_progress', 'already_refunded', 'nothing_to_refund', 'shortfall_outstanding'],
      422: [...ORDER_REFUSALS[422], 'insufficient_balance', 'network_fee_too_high'],
      503: [...ORDER_REFUSALS[503], 'withdrawals_frozen'],
    },
    example: { body: { destination_address: ORDER.destination_address }, data: CREATED },
    async write({ gateway, tx, account, askedBy, params, body, record }) {
      const refund = await refundPayment(gateway, tx, account, paymentId(params.id), {
        destination: body.destination_address,
        amount: body.amount ?? null,
        askedBy,
      })
      await failWhereAsked(tx, account, refund)
      const requested = showCreated(refund)
      record({
        action: 'payment.refund',
        subject: params.id,
        after: { withdrawal: requested.id, ...orderOf(requested) },
      })
      return requested
    },
    committed: ({ gateway }) => gateway.wake('pay-out'),
    settled: whenBroadcast,
  }),
]
