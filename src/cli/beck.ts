#!/usr/bin/env node
/**
 * The command line. Each command's work is in a file of its own beside this one, read only when it is called: help answers at
 * once, and a start begins at once.
 */
import { Command } from 'commander'
import { describeMerchantCommands, doneBy, runProgram } from '../../cli/src/commands.ts'
import { mindNoReader } from '../core/no-reader.ts'
import { VERSION } from '../core/version.ts'
import { keepCompiled } from '../process/compile-cache.ts'
import { compileInForeground } from '../process/orderly-exit.ts'
import { importQuickly } from '../process/quick-imports.ts'
import { openTerminal } from './terminal.ts'

// The other commands are over in a moment. Before anything compiled is read: it is kept for the flags that it was compiled with.
if (!process.argv.includes('start')) compileInForeground()
keepCompiled()
importQuickly()
mindNoReader()
const terminal = openTerminal(process.argv.includes('--json'))
const by = doneBy(terminal)

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
  .action(by(async () => (await import('./start.ts')).start))

program
  .command('migrate')
  .description("bring the database's schema up to date")
  .action(by(async () => (await import('./migrate.ts')).migrateDatabase))

const accounts = program.command('accounts').description('merchant accounts')
accounts
  .command('create')
  .requiredOption('--name <name>')
  .requiredOption('--email <email>')
  .option('--mode <mode>', 'live or test', 'test')
  .option('--currency <currency>', 'settlement currency: USD, EUR or GBP', 'USD')
  .action(by(async () => (await import('./accounts.ts')).createAccount))
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
  .action(by(async () => (await import('./accounts.ts')).setAccount))
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
accounts.command('list').action(by(async () => (await import('./accounts.ts')).showAccounts))

const fees = program
  .command('fees')
  .description('what you earned and gave as capital, by coin, and how you take it out')
  .action(by(async () => (await import('./fees.ts')).showFees))
fees
  .command('pay-out')
  .description('send fees, or capital, to a wallet of yours, as every withdrawal is sent')
  .requiredOption('--asset <coin>', 'BTC, LTC, ETH, USDC or USDT')
  .requiredOption('--amount <amount>', "in the coin; the network's fee is taken from it")
  .requiredOption('--destination <address>')
  .option('--capital', 'what you gave, in place of what was earned')
  .option('--test', 'of the simulated chains')
  .action(by(async () => (await import('./fees.ts')).payOutFees))
fees
  .command('cancel <withdrawal>')
  .description('until it is signed')
  .action(by(async () => (await import('./fees.ts')).cancelPayOut))

const keys = program.command('keys').description('API keys of an account')
keys
  .command('create')
  .option('--account <id>', 'may be left out where there is one account')
  .option('--name <name>', 'how lists call it', 'key')
  .option('--scopes <scopes>', 'scopes separated by commas, or all; a test account gets all when left out')
  .option('--expires <time>', 'when it stops opening anything, such as 90d; never when left out')
  .option('--allow <networks>', 'where it may be used from, such as 203.0.113.0/24; anywhere when left out')
  .action(by(async () => (await import('./keys.ts')).createKey))
keys
  .command('list')
  .option('--account <id>', 'may be left out where there is one account')
  .action(by(async () => (await import('./keys.ts')).showKeys))
keys
  .command('roll <key-id>')
  .description('put a new key in place of one, with the same scopes and networks')
  .option('--overlap <time>', 'how long the old one goes on', '24h')
  .option('--expires <time>', 'when the new one stops opening anything; never when left out')
  .action(by(async () => (await import('./keys.ts')).rollKey))
keys
  .command('revoke <key-id>')
  .description('revoke a key for good')
  .action(by(async () => (await import('./keys.ts')).revokeKey))

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
  .action(by(async () => (await import('./find.ts')).findWalletFunds))
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
  .action(by(async () => (await import('./audit.ts')).listAudit))
audit
  .command('verify')
  .description('prove that no act was changed or removed; ends with 1 when one was')
  .option('--head <place:mac>', 'where the log ended when it was noted: proves its end too')
  .action(by(async () => (await import('./audit.ts')).verifyAudit))

program
  .command('backup <target>')
  .description("write the database and the signer's journal to a new folder, while Beck runs")
  .option(
    '--recipient <key...>',
    'encrypt to a key of age: age1… or ssh-…; the target is a new file then, or - for standard output',
  )
  .action(by(async () => (await import('./backup.ts')).backUp))
program
  .command('restore <source>')
  .description('fill an empty database from a backup; nothing is paid out until you have looked')
  .option('--identity <file>', "the file of age's key that opens an encrypted one")
  .action(by(async () => (await import('./restore.ts')).restore))
program
  .command('drill <source>')
  .description(
    'try a backup out in a database that is thrown away; ends with 1 when it would not bring Beck back',
  )
  .option('--identity <file>', "the file of age's key that opens an encrypted one")
  .option('--max-age <hours>', 'how old its newest entry may be', '25')
  .action(by(async () => (await import('./drill.ts')).drill))
program
  .command('restored')
  .description('after any restore but beck restore: pay nothing out until you have looked; before the start')
  .action(by(async () => (await import('./restore.ts')).declareRestored))

program
  .command('forget')
  .description('remove a person')
  .command('customer <email-or-id>')
  .description('take a name and an email out of customers, payments, sessions, events and the audit log')
  .option('--account <id>', 'of one account; of all when left out')
  .action(by(async () => (await import('./forget.ts')).forgetCustomer))

program
  .command('rekey')
  .description('make everything anew that the old BECK_SECRET_KEY sealed and authenticated, while Beck runs')
  .action(by(async () => (await import('./rekey.ts')).rekeyDatabase))

program
  .command('resume')
  .description(
    'let the money move again after the database lost commits, once you have looked at what is gone',
  )
  .action(by(async () => (await import('./restore.ts')).resume))

program
  .command('doctor')
  .description('look for what is wrong and say what to do')
  .action(by(async () => (await import('./doctor.ts')).diagnose))

program
  .command('alive')
  .description('whether what this machine plays runs, or any machine plays a role; ends with 1 when not')
  .option('--role <role>', 'api, worker, watcher or signer')
  .action(by(async () => (await import('./alive.ts')).tellAlive))

const users = program.command('users').description('people who sign in to the dashboard')
users
  .command('invite <email>')
  .description('print a link that lets somebody in')
  .option('--account <id>', "an account of the merchant's")
  .option('--role <role>', 'owner, admin, developer, support, finance or viewer', 'owner')
  .option('--operator', 'to run the whole Beck instead')
  .action(by(async () => (await import('./users.ts')).inviteUser))
users
  .command('reset <email>')
  .description('print a link with which somebody sets a new password')
  .option('--factors', 'take away passkeys, app, recovery codes and password first: they were lost')
  .action(by(async () => (await import('./users.ts')).resetUser))
users
  .command('first')
  .description('the link that makes the first person, while there is nobody')
  .action(by(async () => (await import('./users.ts')).inviteFirst))
users.command('list').action(by(async () => (await import('./users.ts')).showUsers))
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
  .action(by(async () => (await import('./alerts.ts')).showAlerts))
alerts
  .command('ack [id...]')
  .description('note that you have looked at alerts')
  .option('--all', 'at all that are open')
  .action(by(async () => (await import('./alerts.ts')).acknowledge))

program
  .command('reconcile')
  .description(
    'prove the books and name what disagrees; ends with 1 when they do not balance, or a coin was to be freed and is not',
  )
  .option('--unfreeze', 'let coins whose books agree pay out again')
  .action(by(async () => (await import('./reconcile.ts')).proveBooks))

program
  .command('book-spend <network> <txid>')
  .description(
    'book what left in the chain and the books do not know: a payout that a restored database has forgotten, or a move of yours',
  )
  .option('--loss', "take what no open withdrawal asked for as the gateway's loss")
  .action(by(async () => (await import('./book-spend.ts')).bookForgottenSpend))

describeMerchantCommands(program, terminal)

await runProgram(program, terminal, () => `\n\n${usageOf(process.argv)}`)

/** The help of the command that was meant. */
function usageOf(argv: readonly string[]): string {
  const named = program.commands.find((command) => argv.includes(command.name()))
  const deeper = named?.commands.find((command) => argv.includes(command.name()))
  return (deeper ?? named ?? program).helpInformation()
}
