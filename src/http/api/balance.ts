/** What the merchant has. */
import { readBalance } from '../../flows/balance/read-balance.ts'
import { type Route, read } from '../route.ts'
import { AssetName, FiatAmount, FiatName, Fields } from '../schemas.ts'
import { Type } from '../type.ts'

const Figure = (description: string) =>
  Fields(
    {
      value: FiatAmount('now'),
      previous: FiatAmount('30 days ago'),
      series: Type.Array(
        Fields({
          date: Type.String({ format: 'date' }),
          value: FiatAmount('at the end of the day, of today now'),
        }),
        { minItems: 30, maxItems: 30, description: '30 days, oldest first, today last' },
      ),
    },
    { title: 'BalanceFigure', description },
  )

const Atoms = Type.String({ description: 'in the smallest unit' })
const Coins = Type.String({ description: 'decimal in the coin' })
const Estimate = FiatAmount('estimate at the live rate')

const exampleFigure = (value: number, previous: number) => ({
  value,
  previous,
  series: Array.from({ length: 30 }, (_, day) => ({
    date: new Date(Date.UTC(2026, 0, 5 + day)).toISOString().slice(0, 10),
    value: day === 29 ? value : previous,
  })),
})

export const balance: readonly Route[] = [
  read('GET /balance', {
    scope: 'balance:read',
    summary: 'Retrieve the balance',
    description:
      'Coins are exact; fiat is an estimate at live rates in the account’s settlement currency, rounded down per coin. ' +
      'What is held for a withdrawal or unresolved (underpaid, overpaid or late funds) is in no total.',
    data: Fields({
      currency: FiatName,
      total: Figure('available and pending'),
      available: Figure('withdrawable'),
      pending: Figure('deposits seen but not confirmed, before fees'),
      pending_count: Type.Integer({ description: 'deposits awaiting confirmation' }),
      assets: Type.Array(
        Fields({
          asset: AssetName,
          available_atoms: Atoms,
          available: Coins,
          available_fiat: Estimate,
          pending_atoms: Atoms,
          pending: Coins,
          pending_fiat: Estimate,
          unresolved_atoms: Atoms,
          unresolved: Type.String({
            description: 'held until support accepts or refunds it (an addition of Beck)',
          }),
        }),
      ),
    }),
    refusals: { 503: ['no_rate'] },
    example: {
      data: {
        currency: 'USD',
        total: exampleFigure(1_625, 1_300),
        available: exampleFigure(1_300, 1_300),
        pending: exampleFigure(325, 0),
        pending_count: 1,
        assets: [
          {
            asset: 'BTC',
            available_atoms: '2000000',
            available: '0.02',
            available_fiat: 1_300,
            pending_atoms: '500000',
            pending: '0.005',
            pending_fiat: 325,
            unresolved_atoms: '0',
            unresolved: '0',
          },
        ],
      },
    },
    read: ({ gateway, db, account }) => readBalance(gateway, db, account),
  }),
]
