// Checks the database: the pages of a SQLite file, or the answers of PostgreSQL.
import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { type Finding, fail, ok, warn } from '../../admin/finding.ts'
import { LATE } from '../../admin/upkeep.ts'
import type { Config } from '../../config/schema.ts'
import { programFile } from '../../lib/paths.ts'
import { systemClock } from '../../lib/time.ts'
import { isLocalhost } from '../../lib/url.ts'
import { lastBackup } from '../../store/backup.ts'
import { hasDatabase } from '../../store/open.ts'

/** Maximum time of the integrity check in milliseconds. It reads the whole file. */
const MOST_MS = 30_000

/** Checks the configured database. The server may run. */
export async function checkStorage({ storage, server }: Config): Promise<Finding[]> {
  if (storage.driver !== 'sqlite') return postgres(storage)
  const file = path.resolve(storage.sqlite.path)
  if (!existsSync(file) || !statSync(file).isFile()) return []
  return [...(await integrity(file)), ...(isLocalhost(server.issuer) ? [] : [await backedUp(file)])]
}

/** Whether the last backup is recent. */
async function backedUp(file: string): Promise<Finding> {
  const at = await lastBackup(file)
  if (at === undefined)
    return warn(
      'backup',
      '`service backup` was never used for this database',
      'make one every day: docs/operate/backup.md',
    )
  const age = systemClock.now() - at
  const said = `made ${Math.floor(age / 3600)} hours ago`
  return age < LATE ? ok('backup', said) : warn('backup', said, 'see the job that runs `service backup`')
}

/** Exported for tests. `mostMs` is the maximum time in milliseconds. */
export async function integrity(file: string, mostMs = MOST_MS): Promise<Finding[]> {
  const { killed, said } = await new Promise<{ killed: boolean; said: string }>((resolve) => {
    const settings = { timeout: mostMs, killSignal: 'SIGKILL' } as const
    execFile(process.execPath, [programFile('integrity'), file], settings, (error, stdout, stderr) =>
      resolve({ killed: error?.killed ?? false, said: stdout || messageIn(stderr) }),
    )
  })
  if (killed)
    return [
      warn(
        'integrity',
        `${file} has ${Math.round(statSync(file).size / 1024 ** 2)} MiB, too much to check in ${mostMs / 1000} s`,
        `check a copy: sqlite3 copy.db 'PRAGMA quick_check'`,
      ),
    ]
  if (said === 'ok') return [ok('integrity', `the pages of ${file} are intact`)]
  return [
    fail(
      'integrity',
      `${file} is damaged: ${said}`,
      'stop the server, keep a copy of the file, restore the last backup: docs/operate/backup.md',
    ),
  ]
}

/** The message of the error that a process ended with. */
const messageIn = (stderr: string): string => /^\w*Error: (.*)$/m.exec(stderr)?.[1] ?? 'it cannot be checked'

const SESSION =
  "SELECT split_part(version(), ' on ', 1) AS version, current_setting('transaction_read_only') AS read_only"

async function postgres(storage: Config['storage']): Promise<Finding[]> {
  const { connectedTo } = await import('../../store/postgres/client.ts')
  try {
    const [row] = await connectedTo(storage.postgres, (query) => query(SESSION))
    if (row?.['read_only'] === 'on')
      return [fail('database', 'PostgreSQL only reads here', 'storage.postgres.dsn: the primary, not a standby')]
    const finding = (await hasDatabase(storage))
      ? ok('database', `${String(row?.['version'])} answers`)
      : warn(
          'database',
          `${String(row?.['version'])} answers, without tables`,
          'is storage.postgres.dsn right? `serve` makes them',
        )
    const { adviceOn } = await import('../../store/postgres/advice.ts')
    const advice = await adviceOn(storage.postgres)
    return [finding, ...advice.map(({ key, because, instead }) => warn(key, because, instead))]
  } catch (error) {
    const { message, cause } = error as Error
    const why = cause instanceof Error ? cause.message : message
    return [
      fail('database', `PostgreSQL does not answer: ${why}`, 'see storage.postgres.dsn, and the log of PostgreSQL'),
    ]
  }
}
