/** The commands that ask the API with a key: those of `beck-cli`, and among those of `beck`. Each is read when it is called. */
import { type Command, CommanderError } from 'commander'
import { type Terminal, tellFailure } from '../../src/cli/terminal.ts'
import { invalid } from '../../src/core/errors.ts'
import { onEndSignals } from '../../src/core/signals.ts'
import type { ApiOptions } from './api-client.ts'

/** Where the API of a server on this machine answers. */
const localApi = () => process.env.BECK_API_URL || `http://127.0.0.1:${process.env.PORT || '8080'}`

/**
 * Does what the command line says; the process ends with 1 when that failed, or was not understood.
 *
 * @param usage - What to read when it was not.
 */
export async function runProgram(program: Command, terminal: Terminal, usage: () => string): Promise<void> {
  try {
    await program.parseAsync()
  } catch (error) {
    if (!(error instanceof CommanderError)) tellFailure(terminal, error)
    else if (error.exitCode !== 0) tellFailure(terminal, invalid('usage', `${error.message}${usage()}`))
  }
}

/** Does a command by a function that is read when it is called: it is given the terminal, then what the command line says. */
export const doneBy =
  (terminal: Terminal) =>
  <Given extends unknown[]>(read: () => Promise<(terminal: Terminal, ...given: Given) => Promise<void>>) =>
  async (...given: Given): Promise<void> =>
    (await read())(terminal, ...given)

export function describeMerchantCommands(program: Command, terminal: Terminal): void {
  const by = doneBy(terminal)
  const describe = (to: Command, name: string, description: string, scopes: string): Command =>
    to
      .command(name)
      .description(description)
      .option(
        '--key <key>',
        `API key with ${scopes}; better the variable BECK_API_KEY, which no list of processes shows`,
      )
      .option('--api <url>', 'where Beck answers; also the variable BECK_API_URL', localApi())

  describe(
    program,
    'listen',
    "forward an account's events, signed, to a server on this machine",
    'webhooks:read and payments:read',
  )
    .requiredOption('--forward-to <url>', 'http://localhost:3000/hook')
    .option('--after <event>', 'go on after this event; from now on when left out')
    .action(async (options: ApiOptions & { forwardTo: string; after?: string }) => {
      const stopping = new AbortController()
      // Who asks twice does not wait for an API that does not answer.
      onEndSignals(
        () => stopping.abort(),
        () => process.exit(1),
      )
      await (await import('./listen.ts')).listen(terminal, options, stopping.signal)
    })

  describe(
    program,
    'trigger <event>',
    'make an event happen on a test account: payment.completed, payout.completed, …',
    'all scopes, of a test account',
  ).action(by(async () => (await import('./trigger.ts')).trigger))

  describe(
    program,
    'events',
    "an account's events of the last 30 days, oldest first",
    'webhooks:read and payments:read',
  )
    .option('--after <event>', 'those after this event')
    .option('--type <type>', 'only of this type, such as payment.completed')
    .option('--limit <count>', 'how many at most', '100')
    .action(by(async () => (await import('./events.ts')).listEvents))

  const payments = program.command('payments').description("an account's payments")
  describe(payments, 'list', 'the newest payments', 'payments:read')
    .option('--status <statuses>', 'only with one of these, separated by commas')
    .option('--reference <reference>', 'only of this reference of yours')
    .option('--limit <count>', 'how many, 1 to 100', '25')
    .action(by(async () => (await import('./payments.ts')).listPayments))
  describe(payments, 'show <payment>', 'one payment, as the API shows it', 'payments:read').action(
    by(async () => (await import('./payments.ts')).showPayment),
  )
  describe(payments, 'create', 'ask for a payment', 'payments:write')
    .requiredOption('--asset <coin>', 'BTC, LTC, ETH, USDC or USDT')
    .requiredOption('--amount <price>', 'such as 49.99')
    .option('--currency <currency>', 'USD, EUR or GBP', 'USD')
    .option('--reference <reference>', 'how you call it')
    .option('--email <email>', "the buyer's")
    .action(by(async () => (await import('./payments.ts')).createPayment))
}
