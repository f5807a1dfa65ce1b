/** Twelve confirmations, as on the main network; before EIP-7702 and since. */
import { tellReorganisations } from './reorganised-sweeps.ts'

for (const hardfork of ['prague', 'cancun'] as const)
  await tellReorganisations({ confirmations: 12, hardfork })
