// A PostgreSQL server of the laboratory: its data in a folder, as primary or standby, ended in every way.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type PostgresPrograms, packagedPostgres, unprivileged } from '../../../bench/peers/postgres_server.ts'
import { connectedTo } from '../../../src/store/postgres/client.ts'
import { freePort } from '../../support/free_port.ts'
import { eventually } from '../../support/wire.ts'

/** The versions that a machine may have: Debian's package, and the one of npm. */
export type Version = '15' | '18'
const DEBIAN = '/usr/lib/postgresql/15/bin'
const START_MS = 60_000

const found = new Map<Version, PostgresPrograms | string>()

/** The programs of a version, or in words why there are none. */
export function programsOf(version: Version): PostgresPrograms | string {
  const programs = found.get(version) ?? findPrograms(version)
  found.set(version, programs)
  return programs
}

function findPrograms(version: Version): PostgresPrograms | string {
  if (version === '15')
    return existsSync(`${DEBIAN}/postgres`)
      ? { bin: DEBIAN, env: { LC_ALL: 'C', TZ: 'UTC' } }
      : `PostgreSQL 15 is not in ${DEBIAN} (apt-get install postgresql-15)`
  const folder = mkdtempSync(path.join(tmpdir(), 'service-postgres-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  try {
    unprivileged(folder)
    return packagedPostgres(folder)
  } catch (error) {
    return (error as Error).message
  }
}

interface Made {
  programs: PostgresPrograms
  folder: string
  port: number
}

const running = new Set<ChildProcess>()
process.once('exit', () => running.forEach(killAll))

/** Ends a server with all its processes. */
function killAll({ pid }: ChildProcess): void {
  try {
    process.kill(-(pid ?? 0), 'SIGKILL')
  } catch {
    // It has ended.
  }
}

export class Server {
  readonly port: number
  readonly dsn: string
  readonly data: string
  private readonly made: Made
  private child?: ChildProcess
  private output = ''

  private constructor(made: Made) {
    this.made = made
    this.port = made.port
    this.data = path.join(made.folder, 'data')
    this.dsn = `postgres://postgres@127.0.0.1:${made.port}/postgres?sslmode=disable`
  }

  /** Makes an empty one, in `folder` where one is named. Throws, in words, when the version is not there. */
  static async make(version: Version, folder = mkdtempSync(path.join(tmpdir(), 'service-failover-'))): Promise<Server> {
    const programs = programsOf(version)
    if (typeof programs === 'string') throw new Error(programs)
    const server = new Server({ programs, folder, port: await freePort() })
    const initdb = ['-D', server.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']
    execFileSync(path.join(programs.bin, 'initdb'), initdb, { ...server.options(), stdio: 'pipe' })
    const settings = [
      "listen_addresses = '127.0.0.1'",
      'fsync = off',
      'wal_keep_size = 1GB',
      'shared_buffers = 16MB',
      'wal_retrieve_retry_interval = 100',
    ]
    appendFileSync(path.join(server.data, 'postgresql.conf'), `${settings.join('\n')}\n`)
    return server
  }

  /** Another one with the data of this one, which runs: a backup, which serves at `port`. */
  async backup(port?: number): Promise<Server> {
    const folder = mkdtempSync(path.join(tmpdir(), 'service-failover-'))
    const { uid, gid } = unprivileged(folder)
    const copy = new Server({ ...this.made, folder, port: port ?? (await freePort()) })
    await connectedTo({ dsn: this.dsn }, async (query) => {
      await query("SELECT pg_backup_start('laboratory', true)")
      // Files come and go meanwhile; what belongs to this process alone stays out.
      const cp = (from: string, to: string) =>
        execFileSync('sh', ['-c', 'cp -a "$0" "$1" || true', from, to], { stdio: 'ignore' })
      cp(this.data, copy.data)
      rmSync(path.join(copy.data, 'postmaster.pid'), { force: true })
      const [stopped] = await query('SELECT labelfile FROM pg_backup_stop(false)')
      writeFileSync(path.join(copy.data, 'backup_label'), String(stopped?.['labelfile']))
      // The log up to the end of the backup belongs to it.
      cp(`${this.data}/pg_wal/.`, path.join(copy.data, 'pg_wal'))
    })
    if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, copy.data])
    return copy
  }

  /** Lets it follow another one from its next start. */
  follow(primary: Server): void {
    const conninfo = `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`
    appendFileSync(path.join(this.data, 'postgresql.conf'), `primary_conninfo = '${conninfo}'\n`)
    writeFileSync(path.join(this.data, 'standby.signal'), '')
  }

  async start(): Promise<void> {
    const args = ['-D', this.data, '-p', `${this.port}`, '-k', this.made.folder]
    const child = spawn(path.join(this.made.programs.bin, 'postgres'), args, {
      ...this.options(),
      stdio: ['ignore', 'ignore', 'pipe'],
      // All its processes can be ended at once, like a machine that loses its power.
      detached: true,
    })
    this.child = child
    child.stderr?.on('data', (text: Buffer) => {
      this.output = (this.output + text).slice(-3000)
    })
    running.add(child)
    const ends = () => {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`)
      return this.answers()
    }
    await eventually(ends, START_MS).catch((error) => {
      throw new Error(`PostgreSQL does not start: ${this.output}`, { cause: error })
    })
  }

  answers(): Promise<boolean> {
    return this.sql('SELECT 1').then(
      () => true,
      () => false,
    )
  }

  /** Runs SQL on a connection of its own. */
  sql(text: string): Promise<Record<string, unknown>[]> {
    return connectedTo({ dsn: this.dsn }, (query) => query(text), { application_name: 'laboratory' })
  }

  /** Changes a setting without a restart. */
  async set(name: string, value: string): Promise<void> {
    await this.sql(`ALTER SYSTEM SET ${name} = '${value}'`)
    await this.sql('SELECT pg_reload_conf(), pg_sleep(0.2)')
  }

  /** Makes a standby the primary. Resolves when it takes changes. */
  async promote(): Promise<void> {
    await this.sql('SELECT pg_promote(true, 60)')
    await eventually(async () => (await this.sql('SELECT pg_is_in_recovery() AS is'))[0]?.['is'] === false, START_MS)
  }

  /** Ends it: connections are cut, what is committed is on the disk and at the standby. */
  async stop(): Promise<void> {
    await this.end((child) => child.kill('SIGINT'))
  }

  /** Ends all its processes at once. */
  async kill(): Promise<void> {
    await this.end(killAll)
  }

  async remove(): Promise<void> {
    await this.kill()
    rmSync(this.made.folder, { recursive: true, force: true })
  }

  private async end(how: (child: ChildProcess) => void): Promise<void> {
    const { child } = this
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    how(child)
    await gone
    running.delete(child)
  }

  private options() {
    const { folder, programs } = this.made
    return { ...unprivileged(folder), cwd: folder, env: programs.env }
  }
}
