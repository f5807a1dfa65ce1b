/** What a transaction that sweeps many deposit addresses at once is made of (EIP-7702; contracts/SweepDelegate.sol). */
import { encodeData } from 'ox/AbiFunction'
import { readCall } from './call-data.ts'
import { type Hex, hex } from './wire.ts'

const SWEEP_ALL = {
  type: 'function',
  name: 'sweepAll',
  stateMutability: 'nonpayable',
  inputs: [
    {
      name: 'sweeps',
      type: 'tuple[]',
      components: [
        { name: 'account', type: 'address' },
        { name: 'token', type: 'address' },
      ],
    },
  ],
  outputs: [],
} as const

const ETHER: Hex = `0x${'0'.repeat(40)}`

export interface Sweep {
  readonly account: string
  /** Contract of the token; null for ether. */
  readonly token: string | null
}

/** What the treasury calls the deployed delegate with. Accounts have to delegate to it by then. */
export const sweepCall = (sweeps: readonly Sweep[]): Hex =>
  encodeData(SWEEP_ALL, [
    sweeps.map(({ account, token }) => ({
      account: hex(account, 'address', 20),
      token: token === null ? ETHER : hex(token, 'address', 20),
    })),
  ])

/** What {@link sweepCall} says, addresses in lower case. Throws for anything else. */
export function readSweepCall(data: Hex): Sweep[] {
  const [sweeps] = readCall(SWEEP_ALL, data)
  return sweeps.map(({ account, token }) => ({
    account: account.toLowerCase(),
    token: token.toLowerCase() === ETHER ? null : token.toLowerCase(),
  }))
}

/** Whether an account's code (`eth_getCode`) says that it delegates to a contract. */
export const isDelegatedTo = (code: string, delegate: string): boolean =>
  code.toLowerCase() === `0xef0100${hex(delegate, 'address', 20).slice(2)}`
