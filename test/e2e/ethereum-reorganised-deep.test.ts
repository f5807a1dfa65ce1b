/** Twelve confirmations, as on the main network, with EIP-7702 as there; before it, `ethereum-reorganised-older.test.ts`. */
import { tellReorganisations } from './reorganised-sweeps.ts'

await tellReorganisations({ confirmations: 12, hardfork: 'prague' })
