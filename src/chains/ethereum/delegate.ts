/** The contract that deposit addresses are swept through, and where it stands (EIP-7702; contracts/SweepDelegate.sol). */
import { checksum } from 'ox/Address'
import { fromCreate2 } from 'ox/ContractAddress'
import artifacts from './contracts/artifacts.json' with { type: 'json' }
import { type Hex, hex } from './wire.ts'

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
  const address = checksum(
    fromCreate2({ from: DEPLOYER, salt: SALT, bytecode: delegateDeployment(treasury) }),
  )
  if (delegates.size >= DELEGATES_KEPT) delegates.clear()
  delegates.set(treasury, address)
  return address
}

/** Hashed once: it is asked for after every block, for one hot wallet or a few. */
const delegates = new Map<string, Hex>()
const DELEGATES_KEPT = 64

/** What the {@link DEPLOYER} is called with. */
export const delegateCreation = (treasury: string): Hex => `${SALT}${delegateDeployment(treasury).slice(2)}`

/** What deploys the delegate whose sweeps all go to one treasury, for good: its code, and the treasury as 32 bytes. */
export const delegateDeployment = (treasury: string): Hex =>
  `${hex(artifacts.contracts.SweepDelegate.bytecode, 'bytecode')}${hex(treasury, 'address', 20).slice(2).padStart(64, '0')}`
