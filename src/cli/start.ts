import { readConfig } from '../config/config.ts'
import { Refusal } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import { formatDecimal } from '../core/money.ts'
import { ROLES, startBeck } from '../main.ts'

import { openLog } from '../process/log.ts'
import { endOnSignals } from '../process/orderly-exit.ts'
import { takePassphrase } from '../process/signer-process.ts'
import { riskySettings } from './risky-settings.ts'
import type { Terminal } from './terminal.ts'

/** Runs until a signal. Resolves when Beck runs; the process then ends by its signals. */
export async function start(terminal: Terminal, given: { role: string }): Promise<void> {
  const role = ROLES.find((known) => known === given.role)
  if (!role)
    throw new Refusal('invalid', 'unknown_role', `a role is one of ${ROLES.join(', ')}, got "${given.role}"`)
  const config = readConfig(process.env)
  const log = openLog(config.logLevel)
  for (const name of config.unknownVariables)
    log.warn({ variable: name }, 'a variable that means nothing to Beck is set; is it a slip?')
  for (const { message, advice } of riskySettings(config)) log.warn({ advice }, message)

  if (takePassphrase())
    log.warn(
      {
        advice:
          'put it into a file that the signer alone may read, and name that in BECK_KEYSTORE_PASSPHRASE_FILE',
      },
      'BECK_KEYSTORE_PASSPHRASE is set: /proc shows what this process was started with for as long as it runs',
    )
  if (role === 'all' && Object.values(config.nodes).some((node) => node !== null))
    log.warn(
      { advice: 'docs/operators.md, "The signer elsewhere"' },
      'role all: server and signer are one user of this machine, so whoever takes over the server can read the keystore and its passphrase, and the signer’s limits do not bind him',
    )
  const starting = startBeck(config, role, log)
  endOnSignals(starting, log)

  const { firstAccount, firstPersonLink } = await starting
  const origin = config.settings.publicUrl
  log.info({ role, url: origin }, 'Beck is ready')
  if (role !== 'all' && role !== 'api') return
  const lines = [
    '',
    'Beck is ready.',
    '',
    `  API    ${origin}/v1`,
    `  Docs   ${origin}/docs`,
    `  Dashboard  ${config.settings.dashboardUrl}/dashboard`,
  ]
  if (firstAccount) {
    lines.push(
      '',
      'A test account was made for you. Its key is shown only now:',
      '',
      `  Account  ${showId('acct', firstAccount.account.id)}`,
      `  API key  ${firstAccount.key}`,
    )
  }
  if (firstPersonLink)
    lines.push(
      '',
      'Open this link to make yourself its first person; it is good once:',
      '',
      `  ${firstPersonLink}`,
    )
  if (firstAccount || firstPersonLink)
    lines.push(
      '',
      `Payments cost ${formatDecimal(config.settings.feeBps, 2)} %, payouts ${formatDecimal(config.settings.payoutFeeBps, 2)} %. These fees are yours: npx beck fees shows them`,
      'and takes them out. BECK_FEE_BPS and BECK_PAYOUT_FEE_BPS change them for all, npx beck accounts set --fee for one account.',
    )
  terminal.answer(
    {
      url: `${origin}/v1`,
      ...(firstAccount ? { account_id: showId('acct', firstAccount.account.id), key: firstAccount.key } : {}),
      ...(firstPersonLink ? { first_person_link: firstPersonLink } : {}),
    },
    [...lines, ''],
  )
}
