/** One prover a chain: after every block the books are compared with it. Any number may run; they prove the same. */
import type { ChainPort } from '../chains/chain.ts'
import type { Gateway } from '../flows/gateway.ts'
import { type ProverMemory, proveBlock } from '../proof/prove-block.ts'
import { type Loop, startLoop } from './loop.ts'

export function startProver(gateway: Gateway, port: ChainPort, options: { idleMs?: number } = {}): Loop {
  const memory: ProverMemory = {}
  return startLoop({
    name: `prove ${port.chain}`,
    idleMs: options.idleMs ?? 2_000,
    log: gateway.log,
    async turn() {
      await proveBlock(gateway, port, memory)
      return false
    },
  })
}
