// The commands that work on the server's own machine: start, storage, and what the binary says about itself.
import type { Command } from 'commander'
import type { Env } from '../config/env.ts'
import { ConfigError, loadConfig } from '../config/load.ts'
import type { App } from '../context.ts'
import { readBuild } from '../lib/build.ts'
import type { ServeOptions } from '../server/serve.ts'
import { PURGE_TARGETS } from '../store/expiry.ts'
import { bannerOf } from './banner.ts'
import { completionScript, isShell, SHELLS } from './completion.ts'
import { EXIT, print, printError, printProblems, UsageError } from './output.ts'
import type { GlobalOptions } from './tree.ts'

/** Adds `serve` and `migrate`. `exit` takes the exit code of a command when it is not 0; `readKnees` reads the report of a benchmark. */
export function addServerCommands(
  program: Command,
  env: Env,
  exit: (code: number) => void,
  readKnees: ServeOptions['readKnees'],
): void {
  program
    .command('serve')
    .description(
      'Runs the service. SIGTERM and SIGINT finish the requests in flight and stop it. SIGHUP reloads the signing keys and the configuration.',
    )
    .option('--wait', 'Wait while another server uses the SQLite file.')
    .option('--new-keys', 'Generate missing keys, even if valid tokens become invalid or encrypted values unreadable.')
    .action(async ({ wait: waits, newKeys }: { wait?: boolean; newKeys?: boolean }) => {
      const { serve } = await import('../server/serve.ts')
      try {
        const onReady = process.stderr.isTTY ? greet : undefined
        exit(await serve(program.opts<GlobalOptions>().config, env, { waits, newKeys, onReady, readKnees }))
      } catch (error) {
        if (error instanceof ConfigError) printProblems(error)
        throw error
      }
    })
  addMigrate(program, env)
}

function addMigrate(program: Command, env: Env): void {
  program
    .command('migrate')
    .description(
      'Applies the pending database migrations that expand: instances of the release before still work. `serve` applies them too.',
    )
    .option('--contract', 'Apply also the migrations that contract. No instance of an older version may run.')
    .option('--force', 'Contract while older instances run: they stop working.')
    .option('--plan', 'Show the pending migrations, what they lock, and what older instances do. Change nothing.')
    .action(async (flags: { contract?: boolean; force?: boolean; plan?: boolean }) => {
      const { config, json } = program.opts<GlobalOptions>()
      const { migrateWith } = await import('./migrate.ts')
      print(await migrateWith(flags, loadConfig(config, env).config.storage), json)
    })
}

/** Adds the commands that keep the data in order: `purge`, `backup`, `restore`, `rekey`. */
export function addMaintenanceCommands(program: Command, env: Env, exit: (code: number) => void): void {
  addPurge(program, env)
  addBackup(program, env)
  addRekey(program, env, exit)
}

function addPurge(program: Command, env: Env): void {
  program
    .command('purge')
    .description(
      'Deletes expired rows. Schedule this command, or set retention.enabled: then the server deletes them itself.',
    )
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
      const { config, json } = program.opts<GlobalOptions>()
      const { purge } = await import('./purge.ts')
      const { purged, error } = await purge({ config, ...flags }, env)
      print(purged, json)
      if (error) throw error
    })
}

function addBackup(program: Command, env: Env): void {
  program
    .command('backup')
    .description(
      'Writes a backup of the SQLite database. The server may run. With data_encryption the backup is encrypted and contains the signing keys.',
    )
    .requiredOption('--to <file>', 'Backup file to write. It must not exist.')
    .action(async ({ to }: { to: string }) => {
      const { config, json } = program.opts<GlobalOptions>()
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
      const { config, json } = program.opts<GlobalOptions>()
      const { restore } = await import('./backup/restore.ts')
      const { from, force = false, allowUnencrypted: allowsClear = false } = flags
      print(await restore(config, env, { from, force, allowsClear }), json)
    })
}

function addRekey(program: Command, env: Env, exit: (code: number) => void): void {
  program
    .command('rekey')
    .description(
      'Encrypts values again with the newest key of data_encryption, if an older key encrypted them. Instances may run meanwhile.',
    )
    .action(async () => {
      const { config, json } = program.opts<GlobalOptions>()
      const { rekeyAll } = await import('./rekey.ts')
      const done = await rekeyAll(config, env, ({ table, column, rows, resealed }) =>
        process.stderr.write(`${table}.${column}: ${rows} rows, ${resealed} encrypted again\n`),
      )
      print(done, json)
      const unreadable = done.filter((each) => each.unreadable > 0)
      for (const { table, column, error } of unreadable) printError(new Error(`${table}.${column}: ${error}`))
      exit(unreadable.length > 0 ? EXIT.failed : EXIT.ok)
    })
}

/** Adds `completion` and `version`. */
export function addOwnCommands(program: Command): void {
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
    .action(() => print(readBuild(), program.opts<GlobalOptions>().json))
}

async function greet(app: App): Promise<void> {
  const { config, build } = app
  const { effectiveDcrMode } = await import('../oauth/clients/registration_mode.ts')
  const logIsShown = process.stdout.isTTY && config.observability.logging.outputs.stdout
  process.stderr.write(bannerOf(config, await effectiveDcrMode(app), build.version, logIsShown))
}
