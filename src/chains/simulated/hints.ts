/** Hints from whoever runs beside the watchers: something happened on a simulated chain and is committed. */
import { EventEmitter } from 'node:events'
import type { SimulatedChainName } from './network.ts'

export const hints = new EventEmitter().setMaxListeners(0)

/** Wakes the watchers of this process. */
export const hintAt = (chain: SimulatedChainName): boolean => hints.emit(chain)
