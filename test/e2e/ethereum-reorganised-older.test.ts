/** Twelve confirmations on a network without EIP-7702, where addresses are given gas; a file of its own, for it takes minutes. */
import { tellReorganisations } from './reorganised-sweeps.ts'

await tellReorganisations({ confirmations: 12, hardfork: 'cancun' })
