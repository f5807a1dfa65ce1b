/** Settings that are fine on a closed network and dangerous where real money is: told at every start, and by the doctor. */
import type { Config } from '../config/config.ts'

interface Risk {
  readonly message: string
  readonly advice: string
}

export function riskySettings({ nodes, fixedRates, settings, trustProxy }: Config): Risk[] {
  const isMain = Object.values(nodes).some((node) => node?.network === 'mainnet')
  const risks: (Risk | false)[] = [
    isMain &&
      fixedRates !== null && {
        message: 'BECK_RATES is fixed while a node follows a main network: nobody updates what buyers pay',
        advice: 'take BECK_RATES away, so that exchanges are asked',
      },
    isMain &&
      settings.webhookAllowPrivate && {
        message:
          'BECK_WEBHOOK_ALLOW_PRIVATE lets every merchant have Beck call addresses inside your network',
        advice: 'take it away; it is for tests on closed networks',
      },
    settings.publicUrl.startsWith('https:') &&
      trustProxy === null && {
        message:
          'BECK_PUBLIC_URL is https, so a proxy stands before Beck, and BECK_TRUST_PROXY names none: all buyers and strangers are one address, so limits hold for nobody or for all',
        advice: 'name the address of your proxy, such as BECK_TRUST_PROXY=127.0.0.1',
      },
    trustProxy?.split(',').some((proxy) => proxy.endsWith('/0')) === true && {
      message: 'BECK_TRUST_PROXY believes everybody: who guesses keys can name a new address each time',
      advice: 'name the addresses of your own proxies',
    },
  ]
  return risks.filter((risk) => risk !== false)
}
