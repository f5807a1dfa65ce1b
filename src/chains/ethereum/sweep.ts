/** What a transaction that sweeps many deposit addresses at once is made of (EIP-7702; contracts/SweepDelegate.sol). */
import {
  concatHex,
  decodeFunctionData,
  encodeDeployData,
  encodeFunctionData,
  getCreate2Address,
} from 'viem/utils'
import artifacts from './contracts/artifacts.json' with { type: 'json' }
import { type Hex, hex } from './wire.ts'

const ABI = [
  { type: 'constructor', stateMutability: 'nonpayable', inputs: [{ name: 'receiver', type: 'address' }] },
  {
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
  },
] as const

const ETHER: Hex = `0x${'0'.repeat(40)}`

export interface Sweep {
  readonly account: string
  /** Contract of the token; null for ether. */
  readonly token: string | null
}

/**
 * The deterministic deployment proxy: it creates a contract (CREATE2) from 32 bytes of salt and the code that follows
 * them. It stands at this address on every network that matters, Anvil included.
 */
export const DEPLOYER: Hex = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const SALT: Hex = `0x${'0'.repeat(64)}`

/**
 * Where the delegate of a treasury stands, whoever deployed it. The address follows from its code and from the treasury
 * in it: no other contract can ever stand there, so nobody needs to be believed about it.
 */
export function delegateAddress(treasury: string): Hex {
  const known = delegates.get(treasury)
  if (known) return known
  const address = getCreate2Address({ from: DEPLOYER, salt: SALT, bytecode: delegateDeployment(treasury) })
  if (delegates.size >= DELEGATES_KEPT) delegates.clear()
  delegates.set(treasury, address)
  return address
}

/** Hashed once: it is asked for after every block, for one hot wallet or a few. */
const delegates = new Map<string, Hex>()
const DELEGATES_KEPT = 64

/** What the {@link DEPLOYER} is called with. */
export const delegateCreation = (treasury: string): Hex => concatHex([SALT, delegateDeployment(treasury)])

/** What deploys the delegate whose sweeps all go to one treasury, for good. */
export const delegateDeployment = (treasury: string): Hex =>
  encodeDeployData({
    abi: ABI,
    bytecode: hex(artifacts.contracts.SweepDelegate.bytecode, 'bytecode'),
    args: [hex(treasury, 'address', 20)],
  })

/** What the treasury calls the deployed delegate with. Accounts have to delegate to it by then. */
export const sweepCall = (sweeps: readonly Sweep[]): Hex =>
  encodeFunctionData({
    abi: ABI,
    functionName: 'sweepAll',
    args: [
      sweeps.map(({ account, token }) => ({
        account: hex(account, 'address', 20),
        token: token === null ? ETHER : hex(token, 'address', 20),
      })),
    ],
  })

/** What {@link sweepCall} says, addresses in lower case. Throws for anything else. */
export function readSweepCall(data: Hex): Sweep[] {
  const { args } = decodeFunctionData({ abi: ABI, data })
  return args[0].map(({ account, token }) => ({
    account: account.toLowerCase(),
    token: token.toLowerCase() === ETHER ? null : token.toLowerCase(),
  }))
}

/** Whether an account's code (`eth_getCode`) says that it delegates to a contract. */
export const isDelegatedTo = (code: string, delegate: string): boolean =>
  code.toLowerCase() === `0xef0100${hex(delegate, 'address', 20).slice(2)}`
