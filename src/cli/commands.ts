// The command line of the service: the commands of the server, and where all others come from.
import { Command, CommanderError } from 'commander'
import type { Env } from '../config/env.ts'
import { ConfigError, loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { readBuild } from '../lib/build.ts'
import { systemClock } from '../lib/time.ts'
import { PURGE_TARGETS } from '../store/expiry.ts'
import { bannerOf } from './banner.ts'
import { completionScript, isShell, SHELLS } from './completion.ts'
import { addFirstSteps } from './first_steps.ts'
import { EXIT, exitCodeOf, print, printError, printProblems, UsageError } from './output.ts'
import { commandAt, type GlobalOptions } from './tree.ts'

/** Runs the command line. Resolves to the exit code (EXIT); unless it did what was asked, there are `error: ` lines on standard error. */
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
    // Commander has said what it had to say.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    printError(error)
    return exitCodeOf(error)
  }
}

/** The commands: what these arguments need of them, or all. `exit` is told what a command ends with when that is not 0. */
export async function commandTree(env: Env, exit: (code: number) => void, argv?: readonly string[]): Promise<Command> {
  const program = new Command('service')
    .description('Authorization server for MCP.')
    .option('--config <path>', 'YAML file with the configuration; SERVICE_ variables win over it.')
    .option('--json', 'Print JSON instead of key=value lines.')
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help to see what there is)')
    .exitOverride()
  addServerCommands(program, env, exit)
  addFirstSteps(program, env, exit)
  commandAt(program, 'admin').description('Operator commands; they mirror the admin API.')
  // The admin operations bring the whole service with them: other commands start without.
  const has = (...words: string[]) => !argv || words.some((word) => argv.includes(word))
  if (has('admin', 'completion')) {
    ;(await import('./admin.ts')).addAdminCommands(program, env)
    ;(await import('./setup/commands.ts')).addSetupCommands(program, env, exit)
  }
  if (has('bench', 'plan', 'completion', '--help', '-h') || (argv && argv.length < 3)) {
    ;(await import('../../bench/cli/bench.ts')).addBenchCommands(program, env, exit)
    ;(await import('../../bench/cli/plan.ts')).addPlanCommand(program, env)
  }
  return program
}

function addServerCommands(program: Command, env: Env, exit: (code: number) => void): void {
  const options = () => program.opts<GlobalOptions>()
  program
    .command('serve')
    .description('Starts both listeners. SIGTERM and SIGINT drain and stop, SIGHUP reloads the signing keys.')
    .option('--wait', 'Where another server has the SQLite file, wait until it has ended.')
    .option(
      '--new-keys',
      'Make keys where there are none, even if that ends live tokens or leaves sealed values unreadable.',
    )
    .action(async ({ wait: waits, newKeys }: { wait?: boolean; newKeys?: boolean }) => {
      const { serve } = await import('../server/serve.ts')
      try {
        const onReady = process.stderr.isTTY ? greet : undefined
        exit(await serve(options().config, env, { waits, newKeys, onReady, readKnees }))
      } catch (error) {
        if (error instanceof ConfigError) printProblems(error)
        throw error
      }
    })
  program
    .command('migrate')
    .description('Applies pending database migrations; serve does so too.')
    .action(async () => {
      const { config, json } = options()
      const { storage } = loadConfig(config, env).config
      const { migrate } = await import('../store/open.ts')
      print({ applied: await migrate(storage, systemClock.now()) }, json)
    })
  program
    .command('purge')
    .description('Deletes what has expired. serve never does so: schedule it.')
    .option(
      '--only <a,b>',
      `Of ${Object.keys(PURGE_TARGETS).join(', ')}: all of them by default; unused-clients: registrations never used in 30 days; audit-events or issuances: what is older than --older-than.`,
    )
    .option(
      '--older-than <duration>',
      'For audit-events and issuances, which are kept for good otherwise: such as 365d.',
    )
    .option('--export <file>', 'For these: where the rows are appended as JSON lines before they are deleted.')
    .option('--timeout <duration>', 'Stop after this time; 0 for never.', '10m')
    .action(async (flags: { only?: string; timeout: string; olderThan?: string; export?: string }) => {
      const { config, json } = options()
      const { purge } = await import('./purge.ts')
      const { purged, ok } = await purge({ config, ...flags }, env)
      print(purged, json)
      exit(ok ? EXIT.ok : EXIT.failed)
    })
  program
    .command('backup')
    .description(
      'Writes a backup of the SQLite database, beside a running server. Encrypted, and with the signing keys, when data_encryption is configured.',
    )
    .requiredOption('--to <file>', 'The backup; must not exist.')
    .action(async ({ to }: { to: string }) => {
      const { config, json } = options()
      const { backup } = await import('./backup/backup.ts')
      print(await backup(config, env, to), json)
    })
  program
    .command('restore')
    .description('Puts a backup in the place of the database, while no server runs. Checks it first.')
    .requiredOption('--from <file>', 'The backup.')
    .option('--force', 'Put a database that is there aside.')
    .option('--allow-unencrypted', 'Restore a backup in clear although data_encryption is configured.')
    .action(async (flags: { from: string; force?: boolean; allowUnencrypted?: boolean }) => {
      const { config, json } = options()
      const { restore } = await import('./backup/restore.ts')
      const { from, force = false, allowUnencrypted: allowsClear = false } = flags
      print(await restore(config, env, { from, force, allowsClear }), json)
    })
  program
    .command('rekey')
    .description(
      'Seals again, with the newest key of data_encryption, what an older one has sealed. Instances may go on running.',
    )
    .action(async () => {
      const { config, json } = options()
      const { rekeyAll } = await import('./rekey.ts')
      const done = await rekeyAll(config, env, ({ table, column, rows, resealed }) =>
        process.stderr.write(`${table}.${column}: ${rows} rows, ${resealed} sealed again\n`),
      )
      print(done, json)
      const unreadable = done.filter((each) => each.unreadable > 0)
      for (const { table, column, error } of unreadable) printError(new Error(`${table}.${column}: ${error}`))
      exit(unreadable.length > 0 ? EXIT.failed : EXIT.ok)
    })
  program
    .command('completion')
    .argument('<shell>', SHELLS.join(', '))
    .description('Prints a script that completes commands and flags: source it from the profile of the shell.')
    .action((shell: string) => {
      if (!isShell(shell)) throw new UsageError(`there is completion for ${SHELLS.join(', ')}; not for ${shell}`)
      process.stdout.write(completionScript(program, shell))
    })
  program
    .command('version')
    .description('Prints version, commit and build time.')
    .action(() => print(readBuild(), options().json))
}

/** The benchmark is loaded only where the configuration names a report of it. */
async function readKnees({ observability, storage, signing }: Config) {
  if (!observability.capacity_report) return {}
  const { kneesOf } = await import('../../bench/report/report.ts')
  return kneesOf(observability.capacity_report, storage.driver, signing.algorithm)
}

const greet = ({ config, build }: App) => void process.stderr.write(bannerOf(config, build.version))
