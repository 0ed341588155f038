// The command line: the commands of the service and those of its benchmark.
import { Command, CommanderError } from 'commander'
import { addMaintenanceCommands, addOwnCommands, addServerCommands } from './cli/commands.ts'
import { addFirstSteps } from './cli/first_steps.ts'
import { EXIT, exitCodeOf, printError } from './cli/output.ts'
import { commandAt } from './cli/tree.ts'
import type { Env } from './config/env.ts'
import type { Config } from './config/schema.ts'

/** Runs the command line. Resolves to the exit code (EXIT). A failure also writes `error: ` lines to standard error. */
export async function runCommandLine(argv: readonly string[], env: Env): Promise<number> {
  let code = 0
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
    // Commander has printed the message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    printError(error)
    return exitCodeOf(error)
  }
}

/** Builds the commands that these arguments need, or all. `exit` takes the exit code of a command when it is not 0. */
export async function commandTree(env: Env, exit: (code: number) => void, argv?: readonly string[]): Promise<Command> {
  const program = new Command('service')
    .description('Authorization server for MCP.')
    .option('--config <path>', 'Configuration file in YAML. SERVICE_ variables override it.')
    .option('--json', 'Print JSON instead of key=value lines.')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help for usage)')
    .exitOverride()
  addServerCommands(program, env, exit, readKnees)
  addMaintenanceCommands(program, env, exit)
  addOwnCommands(program)
  addFirstSteps(program, env, exit)
  commandAt(program, 'admin').description('Commands of operators. Each mirrors an operation of the admin API.')
  // The admin operations load the whole service. Other commands start faster without them.
  const has = (...words: string[]) => !argv || words.some((word) => argv.includes(word))
  if (has('admin', 'completion')) {
    ;(await import('./cli/admin.ts')).addAdminCommands(program, env)
    ;(await import('./cli/setup/commands.ts')).addSetupCommands(program, env, exit)
  }
  if (has('bench', 'plan', 'completion', '--help', '-h') || (argv && argv.length < 3)) {
    ;(await import('../bench/cli/bench.ts')).addBenchCommands(program, env, exit)
    ;(await import('../bench/cli/plan.ts')).addPlanCommand(program, env)
  }
  return program
}

/** The benchmark is loaded only where the configuration names a report of it. */
async function readKnees({ observability, storage, signing }: Config) {
  if (!observability.capacity_report) return {}
  const { kneesOf } = await import('../bench/report/report.ts')
  return kneesOf(observability.capacity_report, storage.driver, signing.algorithm)
}
