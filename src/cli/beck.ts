#!/usr/bin/env node
/**
 * The command line. Each command's work is in a file of its own beside this one, read only when it is called: help answers at
 * once, and a start begins at once.
 */
import { Command } from 'commander'
import { describeMerchantCommands, runProgram } from '../../cli/src/commands.ts'
import { mindNoReader } from '../core/no-reader.ts'
import { VERSION } from '../core/version.ts'
import { keepCompiled } from '../process/compile-cache.ts'
import { compileInForeground } from '../process/orderly-exit.ts'
import type { AccountOptions } from './accounts.ts'
import type { PayOutOptions } from './fees.ts'
import type { KeyOptions } from './keys.ts'
import { openTerminal } from './terminal.ts'
import type { InviteOptions } from './users.ts'

keepCompiled()
mindNoReader()
// The other commands are over in a moment.
if (!process.argv.includes('start')) compileInForeground()
const terminal = openTerminal(process.argv.includes('--json'))

const program = new Command('beck')
  .description('A self-hosted crypto payment gateway')
  .version(VERSION, '-V, --version', 'print the version')
  .option('--json', 'print one JSON object on standard output and nothing else')
  .exitOverride()
  .configureOutput({ writeOut: (text) => process.stdout.write(text), writeErr: () => {} })

program
  .command('start')
  .description('run Beck until SIGTERM or SIGINT')
  .option('--role <role>', 'all, api, worker, watcher or signer', 'all')
  .action(async (options: { role: string }) => (await import('./start.ts')).start(terminal, options))

program
  .command('migrate')
  .description("bring the database's schema up to date")
  .action(async () => (await import('./migrate.ts')).migrateDatabase(terminal))

const accounts = program.command('accounts').description('merchant accounts')
accounts
  .command('create')
  .requiredOption('--name <name>')
  .requiredOption('--email <email>')
  .option('--mode <mode>', 'live or test', 'test')
  .option('--currency <currency>', 'settlement currency: USD, EUR or GBP', 'USD')
  .action(async (options: { name: string; email: string; mode: string; currency: string }) =>
    (await import('./accounts.ts')).createAccount(terminal, options),
  )
accounts
  .command('set')
  .description(
    'how an account looks and acts on the hosted pages; what is not given stays, "none" takes it away',
  )
  .requiredOption('--account <id>')
  .option('--name <name>', 'how you and the dashboard call it')
  .option('--currency <currency>', 'settlement currency: USD, EUR or GBP; until the first payment')
  .option('--brand-name <name>', "shown instead of the account's name")
  .option('--logo <file>', 'a PNG, JPEG or WebP picture of at most 64 KiB')
  .option('--color <#rrggbb>', 'of buttons and links')
  .option('--frame-origins <origins>', 'sites that may frame the checkout, separated by commas')
  .option('--success-url <url>', 'where buyers go after paying, unless their session says so')
  .option('--cancel-url <url>', 'where buyers go after cancelling, unless their session says so')
  .option('--late-funds <what>', 'hold or accept')
  .option('--coins <coins>', 'which buyers may pick, such as BTC,LTC; or all')
  .option('--contact <where>', 'an email address or a page that buyers can ask at')
  .option('--terms-url <url>', 'your terms, linked on the hosted pages')
  .option('--privacy-url <url>', 'your privacy notice, linked on the hosted pages')
  .option('--tolerance <percent>', 'what may be missing of a payment that still counts as paid, 0 to 5')
  .option('--fee <percent>', 'what you keep of payments made from now on, 0 to 10; default for BECK_FEE_BPS')
  .action(async (options: AccountOptions) => (await import('./accounts.ts')).setAccount(terminal, options))
accounts
  .command('close <account>')
  .description(
    'take no new payments for it; what is under way ends, its balance can be withdrawn, nothing is deleted',
  )
  .action(async (id: string) => (await import('./accounts.ts')).setAccountClosed(terminal, id, 'close'))
accounts
  .command('reopen <account>')
  .description('take payments for it again')
  .action(async (id: string) => (await import('./accounts.ts')).setAccountClosed(terminal, id, 'reopen'))
accounts.command('list').action(async () => (await import('./accounts.ts')).showAccounts(terminal))

const fees = program
  .command('fees')
  .description('what you earned and gave as capital, by coin, and how you take it out')
  .action(async () => (await import('./fees.ts')).showFees(terminal))
fees
  .command('pay-out')
  .description('send fees, or capital, to a wallet of yours, as every withdrawal is sent')
  .requiredOption('--asset <coin>', 'BTC, LTC, ETH, USDC or USDT')
  .requiredOption('--amount <amount>', "in the coin; the network's fee is taken from it")
  .requiredOption('--destination <address>')
  .option('--capital', 'what you gave, in place of what was earned')
  .option('--test', 'of the simulated chains')
  .action(async (options: PayOutOptions) => (await import('./fees.ts')).payOutFees(terminal, options))
fees
  .command('cancel <withdrawal>')
  .description('until it is signed')
  .action(async (id: string) => (await import('./fees.ts')).cancelPayOut(terminal, id))

const keys = program.command('keys').description('API keys of an account')
keys
  .command('create')
  .option('--account <id>', 'may be left out where there is one account')
  .option('--name <name>', 'how lists call it', 'key')
  .option('--scopes <scopes>', 'scopes separated by commas, or all; a test account gets all when left out')
  .option('--expires <time>', 'when it stops opening anything, such as 90d; never when left out')
  .option('--allow <networks>', 'where it may be used from, such as 203.0.113.0/24; anywhere when left out')
  .action(async (options: KeyOptions) => (await import('./keys.ts')).createKey(terminal, options))
keys
  .command('list')
  .option('--account <id>', 'may be left out where there is one account')
  .action(async (options: { account?: string }) => (await import('./keys.ts')).showKeys(terminal, options))
keys
  .command('roll <key-id>')
  .description('put a new key in place of one, with the same scopes and networks')
  .option('--overlap <time>', 'how long the old one goes on', '24h')
  .option('--expires <time>', 'when the new one stops opening anything; never when left out')
  .action(async (id: string, options: { overlap: string; expires?: string }) =>
    (await import('./keys.ts')).rollKey(terminal, id, options),
  )
keys
  .command('revoke <key-id>')
  .description('revoke a key for good')
  .action(async (id: string) => (await import('./keys.ts')).revokeKey(terminal, id))

const askSigner = async (args: readonly string[]) => (await import('./wallet.ts')).runWallet(terminal, args)
const wallet = program.command('wallet').description('the keystore, which only the signer opens')
wallet
  .command('init')
  .description('create the encrypted keystore and show its 24 words, this once')
  .option('--restore', 'from 24 words on standard input instead')
  .option(
    '--replace',
    'although the database has a live wallet of other words, whose coins stay with those words',
  )
  .action((options: { restore?: true; replace?: true }) =>
    askSigner(['init', ...(options.restore ? ['--restore'] : []), ...(options.replace ? ['--replace'] : [])]),
  )
wallet
  .command('show')
  .description('show the account xpubs and the hot wallet')
  .action(() => askSigner(['show']))
wallet
  .command('find')
  .description("find all that the keystore's words own, on the chains of the connected nodes")
  .option('--gap <count>', 'addresses in a row without funds that end the search', '10000')
  .action(async (options: { gap: string }) => (await import('./find.ts')).findWalletFunds(terminal, options))
wallet
  .command('allow <network> <address>')
  .description('put an address on the allowlist of payouts')
  .action((network: string, address: string) => askSigner(['allow', network, address]))
wallet
  .command('disallow <network> <address>')
  .description('take an address off the allowlist')
  .action((network: string, address: string) => askSigner(['disallow', network, address]))
wallet
  .command('allowed')
  .description('the allowlist, and since when each address is on it')
  .action(() => askSigner(['allowed']))
const approvers = wallet
  .command('approvers')
  .description('whose passkeys approve payouts; see docs/operators.md')
approvers
  .command('list')
  .description('those of this data directory')
  .action(() => askSigner(['approvers', 'list']))
approvers
  .command('add <fingerprint...>')
  .description('the person who read this fingerprint to you, after you saw who it is')
  .option('--dashboard <url>', 'where the dashboard is, if its settings are not on this machine')
  .option('--yes', 'without being asked')
  .action((fingerprint: string[], options: { dashboard?: string; yes?: true }) =>
    askSigner([
      'approvers',
      'add',
      fingerprint.join(''),
      ...(options.dashboard ? ['--dashboard', options.dashboard] : []),
      ...(options.yes ? ['--yes'] : []),
    ]),
  )
approvers
  .command('remove <fingerprint...>')
  .description('at once: for a lost passkey')
  .action((fingerprint: string[]) => askSigner(['approvers', 'remove', fingerprint.join('')]))
wallet
  .command('passphrase <file>')
  .description('seal the keystore anew, with the passphrase in a file')
  .action((file: string) => askSigner(['passphrase', file]))

const audit = program.command('audit').description('who did what: commands, people, and writes by keys')
audit
  .command('list')
  .description('the newest acts')
  .option('--account <id>', 'of one account')
  .option('--limit <count>', 'how many', '50')
  .action(async (options: { account?: string; limit: string }) =>
    (await import('./audit.ts')).listAudit(terminal, options),
  )
audit
  .command('verify')
  .description('prove that no act was changed or removed; ends with 1 when one was')
  .option('--head <place:mac>', 'where the log ended when it was noted: proves its end too')
  .action(async (options: { head?: string }) => (await import('./audit.ts')).verifyAudit(terminal, options))

program
  .command('backup <target>')
  .description("write the database and the signer's journal to a new folder, while Beck runs")
  .option(
    '--recipient <key...>',
    'encrypt to a key of age: age1… or ssh-…; the target is a new file then, or - for standard output',
  )
  .action(async (target: string, options: { recipient?: string[] }) =>
    (await import('./backup.ts')).backUp(terminal, target, options),
  )
program
  .command('restore <source>')
  .description('fill an empty database from a backup; nothing is paid out until you have looked')
  .option('--identity <file>', "the file of age's key that opens an encrypted one")
  .action(async (source: string, options: { identity?: string }) =>
    (await import('./restore.ts')).restore(terminal, source, options),
  )
program
  .command('drill <source>')
  .description(
    'try a backup out in a database that is thrown away; ends with 1 when it would not bring Beck back',
  )
  .option('--identity <file>', "the file of age's key that opens an encrypted one")
  .option('--max-age <hours>', 'how old its newest entry may be', '25')
  .action(async (source: string, options: { identity?: string; maxAge: string }) =>
    (await import('./drill.ts')).drill(terminal, source, options),
  )
program
  .command('restored')
  .description('after any restore but beck restore: pay nothing out until you have looked; before the start')
  .action(async () => (await import('./restore.ts')).declareRestored(terminal))

program
  .command('forget')
  .description('remove a person')
  .command('customer <email-or-id>')
  .description('take a name and an email out of customers, payments, sessions, events and the audit log')
  .option('--account <id>', 'of one account; of all when left out')
  .action(async (person: string, options: { account?: string }) =>
    (await import('./forget.ts')).forgetCustomer(terminal, person, options),
  )

program
  .command('rekey')
  .description('make everything anew that the old BECK_SECRET_KEY sealed and authenticated, while Beck runs')
  .action(async () => (await import('./rekey.ts')).rekeyDatabase(terminal))

program
  .command('resume')
  .description(
    'let the money move again after the database lost commits, once you have looked at what is gone',
  )
  .action(async () => (await import('./restore.ts')).resume(terminal))

program
  .command('doctor')
  .description('look for what is wrong and say what to do')
  .action(async () => (await import('./doctor.ts')).diagnose(terminal))

program
  .command('alive')
  .description('whether what this machine plays runs, or any machine plays a role; ends with 1 when not')
  .option('--role <role>', 'api, worker, watcher or signer')
  .action(async (options: { role?: string }) => (await import('./alive.ts')).tellAlive(terminal, options))

const users = program.command('users').description('people who sign in to the dashboard')
users
  .command('invite <email>')
  .description('print a link that lets somebody in')
  .option('--account <id>', "an account of the merchant's")
  .option('--role <role>', 'owner, admin, developer, support, finance or viewer', 'owner')
  .option('--operator', 'to run the whole Beck instead')
  .action(async (email: string, options: InviteOptions) =>
    (await import('./users.ts')).inviteUser(terminal, email, options),
  )
users
  .command('reset <email>')
  .description('print a link with which somebody sets a new password')
  .action(async (email: string) => (await import('./users.ts')).resetUser(terminal, email))
users
  .command('first')
  .description('the link that makes the first person, while there is nobody')
  .action(async () => (await import('./users.ts')).inviteFirst(terminal))
users.command('list').action(async () => (await import('./users.ts')).showUsers(terminal))
users
  .command('disable <email>')
  .description('sign somebody out everywhere and let him in no more')
  .option('--undo', 'let him in again')
  .action(async (email: string, options: { undo?: true }) =>
    (await import('./users.ts')).setUserDisabled(terminal, email, options.undo !== true),
  )

const alerts = program.command('alerts').description('what Beck wants you to look at')
alerts
  .command('list')
  .option('--all', 'those too that were acknowledged')
  .action(async (options: { all?: true }) => (await import('./alerts.ts')).showAlerts(terminal, options))
alerts
  .command('ack [id...]')
  .description('note that you have looked at alerts')
  .option('--all', 'at all that are open')
  .action(async (ids: string[], options: { all?: true }) =>
    (await import('./alerts.ts')).acknowledge(terminal, ids, options),
  )

program
  .command('reconcile')
  .description('prove the books and name what disagrees; ends with 1 when they do not balance')
  .option('--unfreeze', 'let coins whose books agree pay out again')
  .action(async (options: { unfreeze?: true }) =>
    (await import('./reconcile.ts')).proveBooks(terminal, options),
  )

program
  .command('book-spend <network> <txid>')
  .description('book a payout in the chain that a restored database has forgotten; reconcile names it')
  .option('--loss', "take what no open withdrawal asked for as the gateway's loss")
  .action(async (network: string, txid: string, options: { loss?: true }) =>
    (await import('./book-spend.ts')).bookForgottenSpend(terminal, network, txid, options),
  )

describeMerchantCommands(program, terminal)

await runProgram(program, terminal, () => `\n\n${usageOf(process.argv)}`)

/** The help of the command that was meant. */
function usageOf(argv: readonly string[]): string {
  const named = program.commands.find((command) => argv.includes(command.name()))
  const deeper = named?.commands.find((command) => argv.includes(command.name()))
  return (deeper ?? named ?? program).helpInformation()
}
