// The command line: the commands of the server, and the modules of all others.
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
  addServerCommands(program, env, exit)
  addFirstSteps(program, env, exit)
  commandAt(program, 'admin').description('Commands of operators. Each mirrors an operation of the admin API.')
  // The admin operations load the whole service. Other commands start faster without them.
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
    .description(
      'Runs the service. SIGTERM and SIGINT finish the requests in flight and stop it. SIGHUP reloads the signing keys.',
    )
    .option('--wait', 'Wait while another server uses the SQLite file.')
    .option('--new-keys', 'Generate missing keys, even if live tokens become invalid or encrypted values unreadable.')
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
    .description('Applies pending database migrations. `serve` applies them too.')
    .action(async () => {
      const { config, json } = options()
      const { storage } = loadConfig(config, env).config
      const { migrate } = await import('../store/open.ts')
      print({ applied: await migrate(storage, systemClock.now()) }, json)
    })
  program
    .command('purge')
    .description('Deletes expired rows. `serve` never deletes them: schedule this command.')
    .option(
      '--only <a,b>',
      `What to delete: ${Object.keys(PURGE_TARGETS).join(', ')} (default: all of these); unused-clients, which are registrations that were not used within 30 days; audit-events or issuances older than --older-than.`,
    )
    .option(
      '--older-than <duration>',
      'Minimum age of the audit-events or issuances to delete, such as 365d. They are never deleted without it.',
    )
    .option(
      '--export <file>',
      'File to which audit-events or issuances are appended as JSON lines before they are deleted.',
    )
    .option('--timeout <duration>', 'Stop after this time. 0 means no limit.', '10m')
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
      'Writes a backup of the SQLite database. The server may run. With data_encryption the backup is encrypted and contains the signing keys.',
    )
    .requiredOption('--to <file>', 'Backup file to write. It must not exist.')
    .action(async ({ to }: { to: string }) => {
      const { config, json } = options()
      const { backup } = await import('./backup/backup.ts')
      print(await backup(config, env, to), json)
    })
  program
    .command('restore')
    .description('Replaces the database with a backup, after checking it. The server must be stopped.')
    .requiredOption('--from <file>', 'Backup file to read.')
    .option('--force', 'Rename an existing database instead of refusing.')
    .option('--allow-unencrypted', 'Restore an unencrypted backup although data_encryption is configured.')
    .action(async (flags: { from: string; force?: boolean; allowUnencrypted?: boolean }) => {
      const { config, json } = options()
      const { restore } = await import('./backup/restore.ts')
      const { from, force = false, allowUnencrypted: allowsClear = false } = flags
      print(await restore(config, env, { from, force, allowsClear }), json)
    })
  program
    .command('rekey')
    .description(
      'Encrypts again, with the newest key of data_encryption, every value that an older key encrypted. Instances may run.',
    )
    .action(async () => {
      const { config, json } = options()
      const { rekeyAll } = await import('./rekey.ts')
      const done = await rekeyAll(config, env, ({ table, column, rows, resealed }) =>
        process.stderr.write(`${table}.${column}: ${rows} rows, ${resealed} encrypted again\n`),
      )
      print(done, json)
      const unreadable = done.filter((each) => each.unreadable > 0)
      for (const { table, column, error } of unreadable) printError(new Error(`${table}.${column}: ${error}`))
      exit(unreadable.length > 0 ? EXIT.failed : EXIT.ok)
    })
  program
    .command('completion')
    .argument('<shell>', SHELLS.join(', '))
    .description('Prints a completion script. Source it from the profile of the shell.')
    .action((shell: string) => {
      if (!isShell(shell)) throw new UsageError(`completion exists for ${SHELLS.join(', ')}, not for ${shell}`)
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
