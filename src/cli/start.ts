import { type Config, readConfig } from '../config/config.ts'
import { invalid } from '../core/errors.ts'
import { showId } from '../core/ids.ts'
import { formatDecimal } from '../core/money.ts'
import type { FirstSteps } from '../flows/people/first-steps.ts'
import { speaksToJournal } from '../process/journal.ts'
import { openLog } from '../process/log.ts'
import { endOnSignals } from '../process/orderly-exit.ts'
import { ROLES, type Role } from '../process/shares.ts'
import { takePassphrase } from '../process/signer-process.ts'
import { startBeck } from '../start.ts'
import { riskySettings } from './risky-settings.ts'
import type { Terminal } from './terminal.ts'

/** Runs until a signal. Resolves when Beck runs; the process then ends by its signals. */
export async function start(terminal: Terminal, given: { role: string }): Promise<void> {
  const role = ROLES.find((known) => known === given.role)
  if (!role) throw invalid('unknown_role', `a role is one of ${ROLES.join(', ')}, got "${given.role}"`)
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
  const starting = startBeck(config, role, log, maySayWhatIsSecret(role, terminal))
  endOnSignals(starting, log)

  const { first } = await starting
  log.info({ role, url: config.settings.publicUrl }, 'Beck is ready')
  if (role === 'all' || role === 'api') tellWhatIsReady(terminal, config, first)
}

/**
 * A log that is kept, and read by many, holds no key and no link. A role by itself is a service, whose container's log cannot
 * be told from a pipe; who starts all of them at once tries Beck out.
 */
const maySayWhatIsSecret = (role: Role, { isJson }: Terminal): boolean =>
  !speaksToJournal() && (role === 'all' || process.stdout.isTTY || isJson)

function tellWhatIsReady(
  terminal: Terminal,
  { settings }: Config,
  { account, personLink, lacksPerson }: FirstSteps,
): void {
  const lines = [
    '',
    'Beck is ready.',
    '',
    `  API    ${settings.publicUrl}/v1`,
    `  Docs   ${settings.publicUrl}/docs`,
    `  Dashboard  ${settings.dashboardUrl}/dashboard`,
  ]
  if (account) {
    lines.push(
      '',
      'A test account was made for you. Its key is shown only now:',
      '',
      `  Account  ${showId('acct', account.account.id)}`,
      `  API key  ${account.key}`,
    )
  }
  if (personLink)
    lines.push(
      '',
      'Open this link to make yourself its first person; it is good once:',
      '',
      `  ${personLink}`,
    )
  if (lacksPerson)
    lines.push(
      '',
      'Nobody has a sign-in yet: npx beck users first shows the link that makes the first person.',
    )
  if (account || personLink)
    lines.push(
      '',
      `Payments cost ${formatDecimal(settings.feeBps, 2)} %, payouts ${formatDecimal(settings.payoutFeeBps, 2)} %. These fees are yours: npx beck fees shows them`,
      'and takes them out. BECK_FEE_BPS and BECK_PAYOUT_FEE_BPS change them for all, npx beck accounts set --fee for one account.',
    )
  terminal.answer(
    {
      url: `${settings.publicUrl}/v1`,
      ...(account ? { account_id: showId('acct', account.account.id), key: account.key } : {}),
      ...(personLink ? { first_person_link: personLink } : {}),
    },
    [...lines, ''],
  )
}
