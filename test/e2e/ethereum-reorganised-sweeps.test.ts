/** Two confirmations, so that even short reorganisations take what was settled; before EIP-7702 and since. */
import { tellReorganisations } from './reorganised-sweeps.ts'

for (const hardfork of ['prague', 'cancun'] as const)
  await tellReorganisations({ confirmations: 2, hardfork })
