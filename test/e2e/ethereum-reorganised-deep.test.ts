/** Twelve confirmations, as on the main network, with EIP-7702 as there; before it, the shorter ones are told. */
import { tellReorganisations } from './reorganised-sweeps.ts'

await tellReorganisations({ confirmations: 12, hardfork: 'prague' })
