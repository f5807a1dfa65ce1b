/** `beck-cli`: what a developer needs on a machine without Beck. One bundled file; see build.ts. */
import { Command } from 'commander'
import { openTerminal } from '../../src/cli/terminal.ts'
import manifest from '../package.json' with { type: 'json' }
import { describeMerchantCommands, runProgram } from './commands.ts'

const terminal = openTerminal(process.argv.includes('--json'))
const program = new Command('beck-cli')
  .description("A Beck payment gateway's events and payments, from a developer's machine")
  .version(manifest.version, '-V, --version', 'print the version')
  .option('--json', 'print JSON objects on standard output and nothing else')
  .exitOverride()
  .configureOutput({ writeOut: (text) => process.stdout.write(text), writeErr: () => {} })
describeMerchantCommands(program, terminal)
await runProgram(program, terminal, () => '; see beck-cli --help')
