/** `beck-cli`: what a developer needs on a machine without Beck. One bundled file; see build.ts. */
import { Command, CommanderError } from 'commander'
import { openTerminal, tellFailure } from '../../src/cli/terminal.ts'
import { Refusal } from '../../src/core/errors.ts'
import manifest from '../package.json' with { type: 'json' }
import { describeMerchantCommands } from './commands.ts'

const terminal = openTerminal(process.argv.includes('--json'))
const program = new Command('beck-cli')
  .description("A Beck payment gateway's events and payments, from a developer's machine")
  .version(manifest.version, '-V, --version', 'print the version')
  .option('--json', 'print JSON objects on standard output and nothing else')
  .exitOverride()
  .configureOutput({ writeOut: (text) => process.stdout.write(text), writeErr: () => {} })
describeMerchantCommands(program, terminal)

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) tellFailure(terminal, error)
  else if (error.exitCode !== 0)
    tellFailure(terminal, new Refusal('invalid', 'usage', `${error.message}; see beck-cli --help`))
}
