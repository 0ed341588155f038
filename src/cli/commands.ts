// The commands that work on the server's own machine: start, storage, and what the binary says about itself.
import path from 'node:path'
import type { Command } from 'commander'
import type { Env } from '../config/env.ts'
import { ConfigError, loadConfig } from '../config/load.ts'
import { warningsOf } from '../config/notices.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { readBuild } from '../lib/build.ts'
import { isLocalhost } from '../lib/url.ts'
import type { ServeOptions } from '../server/serve.ts'
import { PURGE_TARGETS } from '../store/expiry.ts'
import { completionScript, isShell, SHELLS } from './completion.ts'
import { originOf } from './origin.ts'
import { EXIT, print, printError, printProblems, UsageError } from './output.ts'
import type { GlobalOptions } from './tree.ts'

/** Adds the commands. `exit` takes the exit code of a command when it is not 0; `readKnees` reads the report of a benchmark. */
export function addLocalCommands(
  program: Command,
  env: Env,
  exit: (code: number) => void,
  readKnees: ServeOptions['readKnees'],
): void {
  addServe(program, env, exit, readKnees)
  addMigrate(program, env)
  addPurge(program, env)
  addBackup(program, env)
  addRekey(program, env, exit)
  addOwnCommands(program)
}

function addServe(
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

function addOwnCommands(program: Command): void {
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

/** The addresses of both listeners, the place of the data, and the warnings, unless the log shows them on the same terminal. The DCR mode is the one in force. */
export function bannerOf(config: Config, dcrMode: Config['dcr']['mode'], version: string, logIsShown: boolean): string {
  const { server, admin, storage, signing } = config
  const sqlite = storage.driver === 'sqlite'
  const rows = [
    ['clients', server.issuer],
    ['operators', admin.enabled ? `${originOf(admin.address)}/admin/ui/` : 'off (admin.enabled)'],
    ['data', sqlite ? path.resolve(storage.sqlite.path) : 'PostgreSQL'],
    ['keys', signing.key_store === 'keyfile' ? path.resolve(signing.key_path) : signing.key_store],
  ]
  const unsafe = logIsShown ? [] : warningsOf(config, dcrMode)
  const local = isLocalhost(server.issuer)
    ? ' With an issuer that is not on localhost, a missing secret or admin key prevents the start. Other settings only cause a warning.'
    : ''
  return [
    `\nservice ${version}\n`,
    ...rows.map(([name = '', value]) => `  ${name.padEnd(10)} ${value}`),
    ...(unsafe.length > 0 ? [`\n  Unsafe settings:${local}`, ...unsafe.map((each) => `  - ${each}`)] : []),
    '\n  In another terminal: `service quickstart` for a first token, `service doctor` for a check.\n\n',
  ].join('\n')
}

async function greet(app: App): Promise<void> {
  const { config, build } = app
  const { effectiveDcrMode } = await import('../oauth/clients/registration_mode.ts')
  const logIsShown = process.stdout.isTTY && config.observability.logging.outputs.stdout
  process.stderr.write(bannerOf(config, await effectiveDcrMode(app), build.version, logIsShown))
}
