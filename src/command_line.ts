// The command line: the commands of the service and those of its benchmark.
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { addLocalCommands } from './cli/commands.ts'
import { addExamples } from './cli/examples.ts'
import { addFirstSteps } from './cli/first_steps.ts'
import { EXIT, exitCodeOf, printError, UsageError } from './cli/output.ts'
import { addTargetOptions, commandAt, OUTPUTS } from './cli/tree.ts'
import type { Env } from './config/env.ts'
import type { Config } from './config/schema.ts'
import { readBuild } from './lib/build.ts'

/** Runs the command line. Resolves to the exit code (EXIT). A failure also writes `error: ` lines, or with --json an object, to standard error. */
export async function runCommandLine(given: readonly string[], env: Env): Promise<number> {
  const argv = helpFlagged(given)
  const asJson = argv.includes('--json')
  let code = 0
  // Its exit code 2 means that something differs.
  const compares = argv.some((word, i) => word === 'diff' && argv[i - 1] === 'admin')
  const program = await commandTree(
    env,
    (ended) => {
      code = ended
    },
    argv,
  )
  try {
    await program.parseAsync([...argv])
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      printError(error, asJson)
      return compares ? EXIT.failed : exitCodeOf(error)
    }
    if (error.exitCode === 0) return EXIT.ok
    // As text, commander has printed the message already.
    if (asJson) printError(new UsageError(messageOf(error)), asJson)
    return compares ? EXIT.failed : EXIT.usage
  }
}

/** `service help admin client create` is `service admin client create --help`. */
const helpFlagged = ([node = '', program = '', first, ...rest]: readonly string[]): string[] =>
  first === 'help'
    ? [node, program, ...rest, '--help']
    : [node, program, ...(first === undefined ? [] : [first]), ...rest]

function readOutput(text: string): (typeof OUTPUTS)[number] {
  const output = OUTPUTS.find((each) => each === text)
  if (!output) throw new InvalidArgumentError(`It must be one of ${OUTPUTS.join(', ')}.`)
  return output
}

const messageOf = ({ code, message }: CommanderError): string =>
  code === 'commander.help'
    ? 'the command is not complete: add --help for its subcommands'
    : message.replace(/^error: /, '')

/** A command that names all missing flags. Commander would end with the first one. */
class ServiceCommand extends Command {
  override createCommand(name?: string): ServiceCommand {
    return new ServiceCommand(name)
  }

  /** Called by commander for a missing flag. */
  missingMandatoryOptionValue(): never {
    const missing = this.options.filter(
      (each) => each.mandatory && this.getOptionValue(each.attributeName()) === undefined,
    )
    throw new UsageError(...missing.map(({ long, short }) => `${long ?? short} is required`))
  }
}

/** Builds the commands that these arguments need, or all. `exit` takes the exit code of a command when it is not 0. */
export async function commandTree(env: Env, exit: (code: number) => void, argv?: readonly string[]): Promise<Command> {
  const program = new ServiceCommand('service')
    .description('Authorization server for MCP.')
    .option('--config <path>', 'Configuration file in YAML. SERVICE_ variables override it.')
    .option('--json', 'Print JSON. Errors are a JSON object on standard error.')
    .addOption(
      new Option(
        `--output <${OUTPUTS.join('|')}>`,
        'Format of the answers of admin commands: a table fitted to the terminal, a table with all columns, or key=value lines. Default: table on a terminal, otherwise text.',
      ).argParser(readOutput),
    )
    .version(readBuild().version, '--version', 'Print the version.')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help for usage)')
    .configureOutput(argv?.includes('--json') ? { writeErr: () => {} } : {})
    .exitOverride()
  addLocalCommands(program, env, exit, readKnees)
  addFirstSteps(program, env, exit)
  addTargetOptions(
    commandAt(program, 'admin').description(
      'Commands of operators. Each mirrors an operation of the admin API. They use the running server of the configuration, or without one its database; with --admin-url or --profile a server elsewhere.',
    ),
  )
  const isAll = !argv || argv.includes('completion')
  const has = (...words: string[]) => isAll || words.some((word) => argv?.includes(word))
  // The admin operations load the whole service. Other commands start faster without them.
  if (has('admin')) {
    ;(await import('./cli/admin.ts')).addAdminCommands(program, env, isAll ? undefined : argv)
    ;(await import('./cli/setup/commands.ts')).addSetupCommands(program, env, exit)
  }
  const addMcp = async () => (await import('./cli/mcp.ts')).addMcpCommand(program, env)
  const addBench = async () => {
    ;(await import('../bench/cli/bench.ts')).addBenchCommands(program, env, exit)
    ;(await import('../bench/cli/plan.ts')).addPlanCommand(program, env)
  }
  const named = [...(has('mcp') ? [addMcp] : []), ...(has('bench', 'plan') ? [addBench] : [])]
  // The overview of `service --help` has every command, and so do the suggestions for a word that is none.
  const isOverview = !has('--version', ...program.commands.map((command) => command.name()))
  for (const add of isOverview && named.length === 0 ? [addMcp, addBench] : named) await add()
  addExamples(program)
  return program
}

/** The benchmark is loaded only where the configuration names a report of it. */
async function readKnees({ observability, storage, signing }: Config) {
  if (!observability.capacity_report) return {}
  const { kneesOf } = await import('../bench/report/report.ts')
  return kneesOf(observability.capacity_report, storage.driver, signing.algorithm)
}
