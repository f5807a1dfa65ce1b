/** The prices that an account is quoted: the market's, the sandbox's, or none where the sandbox was told so. */
import type { Account } from '../../accounts/account.ts'
import { noRate } from '../../rates/pair.ts'
import type { Rates } from '../../rates/rates.ts'
import type { Gateway } from '../gateway.ts'

export function ratesOf(
  { rates }: Pick<Gateway, 'rates'>,
  { mode, trouble }: Pick<Account, 'mode' | 'trouble'>,
): Pick<Rates, 'rate'> {
  if (trouble !== 'no_rates') return rates[mode]
  return {
    rate(asset, fiat) {
      throw noRate(asset, fiat, 'the sandbox was told that no exchange answers')
    },
  }
}
