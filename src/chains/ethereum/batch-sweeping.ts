/** Whether one transaction can sweep many addresses (EIP-7702), and what it needs of each. */
import type { BatchSweeping } from '../chain.ts'
import { type Rpc, type RpcAnswer, take } from '../json-rpc.ts'
import { DEPLOYER, delegateAddress } from './delegate.ts'
import { isDelegatedTo } from './sweep.ts'
import { hex, quantity, record } from './wire.ts'

export async function readBatchSweeping(
  rpc: Rpc,
  treasury: string,
  addresses: readonly string[],
): Promise<BatchSweeping | null> {
  const delegate = delegateAddress(treasury)
  const [latest, deployer, code, ...answers] = await rpc.batch([
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
    ...[DEPLOYER, delegate, ...addresses].map((of) => ({ method: 'eth_getCode', params: [of, 'latest'] })),
    ...addresses.map((of) => ({ method: 'eth_getTransactionCount', params: [of, 'latest'] })),
  ])
  // Blocks carry this hash since Prague (EIP-7685), the upgrade that brought EIP-7702.
  const isPrague = 'requestsHash' in record(take(latest), 'block')
  const codeOf = (answer: RpcAnswer | undefined) => hex(take(answer), 'code')
  if (!isPrague || codeOf(deployer) === '0x') return null
  return {
    delegate,
    isDeployed: codeOf(code) !== '0x',
    accounts: addresses.map((_, position) => ({
      nonce: quantity(take(answers[addresses.length + position]), 'nonce'),
      delegates: isDelegatedTo(codeOf(answers[position]), delegate),
    })),
  }
}
