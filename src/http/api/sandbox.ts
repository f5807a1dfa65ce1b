/** What test accounts can make happen on the simulated chain. */
import { NETWORKS } from '../../core/assets.ts'
import type { Gateway } from '../../flows/gateway.ts'
import { drawPayment } from '../../flows/payments/read-payment.ts'
import {
  expireInSandbox,
  mineInSandbox,
  payInSandbox,
  reorganiseInSandbox,
  replaceInSandbox,
  SANDBOX_BLOCKS_MAX,
  SANDBOX_DEPTH_MAX,
} from '../../flows/sandbox.ts'
import { type Route, write } from '../route.ts'
import { Fields, OneOf, PathId } from '../schemas.ts'
import { Type } from '../type.ts'
import { CREATED, Payment, RETRIEVED } from './payment-schemas.ts'
import { paymentId } from './payments.ts'

const Network = OneOf(NETWORKS)
const Tip = Fields(
  { network: Network, height: Type.Integer({ description: "the chain's newest block" }) },
  { title: 'ChainTip' },
)

const WAITING = {
  ...RETRIEVED,
  ...CREATED,
  customers: null,
  detected_at: null,
  completed_at: null,
  deposits: [],
}

const TEST_ONLY = { 403: ['test_accounts_only'] } as const
const MINING = { ...TEST_ONLY, 503: ['sandbox_busy'] } as const

/** Every row here is for test accounts only, and its effects show as soon as the watchers have looked. */
const row = {
  scope: 'payments:write',
  ours: true,
  testOnly: true,
  committed: ({ gateway }: { readonly gateway: Gateway }) => gateway.wake('sandbox'),
} as const

export const sandbox: readonly Route[] = [
  write('POST /sandbox/payments/:id/pay', {
    ...row,
    summary: 'Pay a payment',
    description: 'Sends coins to its address, whatever state it is in. They are seen within a second or two.',
    params: PathId('pay'),
    body: Fields({
      amount: Type.Optional(
        Type.String({
          maxLength: 100,
          description: 'decimal in the coin; exactly what is due when left out',
        }),
      ),
      confirmations: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: SANDBOX_BLOCKS_MAX,
          description: 'blocks mined at once, the one that holds the payment included; none when left out',
        }),
      ),
    }),
    data: Payment,
    refusals: { ...MINING, 400: ['invalid_amount'], 404: ['payment_not_found'] },
    example: { body: { confirmations: 6 }, data: WAITING },
    async write({ gateway, tx, account, params, body, record }) {
      const payment = await payInSandbox(tx, account, paymentId(params.id), body)
      record({ action: 'sandbox.pay', subject: params.id })
      return drawPayment(gateway, tx, payment)
    },
  }),
  write('POST /sandbox/payments/:id/expire', {
    ...row,
    summary: "End a payment's window now",
    description: 'It expires within a second or two unless funds were seen.',
    params: PathId('pay'),
    data: Payment,
    refusals: { ...TEST_ONLY, 404: ['payment_not_found'], 409: ['window_over'] },
    example: { data: WAITING },
    async write({ gateway, tx, account, params, record }) {
      const payment = await expireInSandbox(tx, account, paymentId(params.id))
      record({ action: 'sandbox.expire', subject: params.id })
      return drawPayment(gateway, tx, payment)
    },
  }),
  write('POST /sandbox/payments/:id/replace', {
    ...row,
    summary: 'Double-spend an unconfirmed payment',
    description: 'Every unconfirmed transaction to its address is replaced by one that pays elsewhere.',
    params: PathId('pay'),
    data: Payment,
    refusals: { ...TEST_ONLY, 404: ['payment_not_found'], 409: ['nothing_unconfirmed'] },
    example: { data: WAITING },
    async write({ gateway, tx, account, params, record }) {
      const payment = await replaceInSandbox(tx, account, paymentId(params.id))
      record({ action: 'sandbox.replace', subject: params.id })
      return drawPayment(gateway, tx, payment)
    },
  }),
  write('POST /sandbox/blocks', {
    ...row,
    summary: 'Mine blocks',
    description: 'The first one takes in everything that waits. The chain is shared by all test accounts.',
    body: Fields({
      network: Network,
      count: Type.Optional(
        Type.Integer({ minimum: 1, maximum: SANDBOX_BLOCKS_MAX, description: '1 when left out' }),
      ),
    }),
    data: Tip,
    refusals: MINING,
    example: { body: { network: 'litecoin', count: 6 }, data: { network: 'litecoin', height: 106 } },
    async write({ tx, account, body, record }) {
      const { height } = await mineInSandbox(tx, account, body.network, body.count ?? 1)
      record({ action: 'sandbox.mine', subject: null, after: { ...body } })
      return { network: body.network, height }
    },
  }),
  write('POST /sandbox/reorg', {
    ...row,
    summary: 'Reorganise the chain',
    description:
      'A longer branch takes the place of the last blocks; their transactions wait in the mempool again.',
    body: Fields({
      network: Network,
      depth: Type.Optional(
        Type.Integer({ minimum: 1, maximum: SANDBOX_DEPTH_MAX, description: '1 when left out' }),
      ),
    }),
    data: Tip,
    refusals: { ...MINING, 409: ['chain_too_short'] },
    example: { body: { network: 'litecoin', depth: 2 }, data: { network: 'litecoin', height: 107 } },
    async write({ tx, account, body, record }) {
      const { height } = await reorganiseInSandbox(tx, account, body.network, body.depth ?? 1)
      record({ action: 'sandbox.reorganise', subject: null, after: { ...body } })
      return { network: body.network, height }
    },
  }),
]
