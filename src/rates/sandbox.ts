/** The market of test accounts: every coin in every currency, always there, and constant so that tests can count. */
import { fixedRates } from './fixed.ts'
import type { Rates } from './rates.ts'

const PRICES = 'BTC/USD=65000,LTC/USD=80,ETH/USD=3000,USDC/USD=1,USDT/USD=0.999,EUR/USD=1.08,GBP/USD=1.27'

export const sandboxRates = (): Rates => fixedRates(PRICES, 'sandbox')
