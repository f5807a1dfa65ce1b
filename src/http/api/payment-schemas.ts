/** How the API shows payments: schemas, and the examples of the reference. */
import type { Static } from 'typebox'
import { DEPOSIT_STATUSES } from '../../deposits/deposit.ts'
import { PAYMENT_STATUSES } from '../../payments/payment.ts'
import {
  AssetName,
  FiatName,
  Fields,
  Id,
  NetworkName,
  Nullable,
  OneOf,
  Reference,
  Timestamp,
} from '../schemas.ts'
import { Type } from '../type.ts'

const Status = OneOf(PAYMENT_STATUSES)

const listedFields = {
  id: Id('pay'),
  status: Status,
  asset: AssetName,
  net_fiat: Type.Number({
    description:
      'what is credited to the balance: `fiat_amount - fee_fiat`, or what was credited once another amount was settled or accepted',
  }),
  fiat_currency: FiatName,
  reference: Nullable(Reference),
  created_at: Timestamp(),
}

const createdFields = {
  ...listedFields,
  network: NetworkName,
  fiat_amount: Type.Number({ description: 'gross amount charged' }),
  fee_fiat: Type.Number({ description: 'service fee' }),
  confirmations: Type.Integer({ description: 'seen so far; 0 on creation' }),
  metadata: Type.Unsafe<unknown>({
    type: 'object',
    additionalProperties: true,
    description: 'your key/value pairs, exactly as given',
  }),
  expires_at: Timestamp('when the locked rate ends: 30 minutes after creation'),
  deposit: Fields(
    {
      address: Type.String({ description: 'where to send the coins' }),
      asset: AssetName,
      network: NetworkName,
      expected_amount: Type.String({
        description: 'decimal in the coin, rounded up to its payable precision',
      }),
      expected_amount_atoms: Type.String({ description: 'the same amount in the smallest unit' }),
      qr_data: Type.String({
        description:
          'wallet URI, `<scheme>:<address>?amount=<decimal>`; for a token few wallets read it, and none takes it for ether: draw `payment_uri` where there is one',
      }),
      payment_uri: Nullable(
        Type.String({
          description:
            'what wallets read, with coin, network and amount: BIP-21 or EIP-681; null on the simulated Ethereum (an addition of Beck)',
        }),
      ),
      status: Status,
      confirmations: Type.Integer(),
      required_confirmations: Type.Integer({ description: 'needed before completion' }),
      expires_at: Timestamp(),
    },
    { title: 'Deposit' },
  ),
}

export const ListedPayment = Fields(listedFields, { title: 'ListedPayment' })

export const CreatedPayment = Fields(createdFields, { title: 'CreatedPayment' })

export const Payment = Fields(
  {
    ...createdFields,
    customers: Type.Unsafe<{ id: string; email: string } | null>({
      ...Fields({ id: Id('cus'), email: Type.String() }),
      type: ['object', 'null'],
      description: 'the customer of the email that the payment names',
    }),
    detected_at: Nullable(Timestamp('when funds were first seen')),
    completed_at: Nullable(Timestamp('when the payment was confirmed')),
    refund_address: Nullable(
      Type.String({
        description:
          'where the buyer of a checkout wants back what is held, as he said on its page (an addition of Beck)',
      }),
    ),
    missing: Nullable(
      Type.String({
        description:
          'decimal in the coin: what an underpaid payment still lacks, with what was refunded of it (an addition of Beck)',
      }),
    ),
    deposits: Type.Array(
      Fields({
        tx_hash: Nullable(Type.String()),
        asset: AssetName,
        amount: Type.String({ description: 'decimal in the coin' }),
        amount_atoms: Type.String(),
        confirmations: Type.Integer(),
        status: OneOf(DEPOSIT_STATUSES),
        late: Type.Boolean({ description: 'seen after the window' }),
        seen_at: Timestamp(),
      }),
      {
        description:
          'what the chain showed at the address, late and further ones included (an addition of Beck)',
      },
    ),
  },
  { title: 'Payment' },
)

export const LISTED = {
  id: 'pay_01k6v3d6yqf5bbt9xgk2v7p8rm',
  status: 'completed',
  asset: 'LTC',
  net_fiat: 49.49,
  fiat_currency: 'USD',
  reference: 'order-1001',
  created_at: '2026-02-03T10:15:00.000Z',
} as const satisfies Static<typeof ListedPayment>

export const CREATED = {
  ...LISTED,
  status: 'pending',
  network: 'litecoin',
  fiat_amount: 49.99,
  fee_fiat: 0.5,
  confirmations: 0,
  metadata: { cart: 77 },
  expires_at: '2026-02-03T10:45:00.000Z',
  deposit: {
    address: 'ltc1qg42tkwuuxefutzxezdkdel39gfstuap288mfea',
    asset: 'LTC',
    network: 'litecoin',
    expected_amount: '0.62487501',
    expected_amount_atoms: '62487501',
    qr_data: 'litecoin:ltc1qg42tkwuuxefutzxezdkdel39gfstuap288mfea?amount=0.62487501',
    payment_uri: 'litecoin:ltc1qg42tkwuuxefutzxezdkdel39gfstuap288mfea?amount=0.62487501',
    status: 'pending',
    confirmations: 0,
    required_confirmations: 6,
    expires_at: '2026-02-03T10:45:00.000Z',
  },
} as const satisfies Static<typeof CreatedPayment>

export const RETRIEVED: Static<typeof Payment> = {
  ...CREATED,
  status: 'completed',
  confirmations: 6,
  deposit: { ...CREATED.deposit, status: 'completed', confirmations: 6 },
  customers: { id: 'cus_01k6v3d6yqf5bbt9xgk2v7p8rn', email: 'buyer@example.com' },
  detected_at: '2026-02-03T10:17:21.000Z',
  completed_at: '2026-02-03T10:32:05.000Z',
  refund_address: null,
  missing: null,
  deposits: [
    {
      tx_hash: '9f2c4a5be1d07d3b6a8e9f2c4a5be1d07d3b6a8e9f2c4a5be1d07d3b6a8e9f2c',
      asset: 'LTC',
      amount: '0.62487501',
      amount_atoms: '62487501',
      confirmations: 6,
      status: 'confirmed',
      late: false,
      seen_at: '2026-02-03T10:17:21.000Z',
    },
  ],
}
