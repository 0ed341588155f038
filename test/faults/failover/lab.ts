// The laboratory: a primary, a standby that streams from it, and two instances of the built service that know both.
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { newSecret } from '../../../src/lib/id.ts'
import { tempFolder } from '../../support/folder.ts'
import { freePort } from '../../support/free_port.ts'
import { openProxy, type TcpProxy } from '../../support/proxy.ts'
import { ADMIN_KEY } from '../../support/service.ts'
import { eventually } from '../../support/wire.ts'
import { Instance } from '../../torture/instance.ts'
import { openScene, type Scene } from '../../torture/scene.ts'
import { Server, type Version } from './server.ts'

export interface LabOptions {
  version: Version
  max_conns: number
  /** Whether a commit waits for the standby. */
  synchronous: boolean
  /** Where the database is; in the data of the server unless it is named. */
  tablespace?: string
  /** The connection string that instances get, by what leads to both servers. */
  through?(ports: readonly [number, number]): Promise<string>
}

/** Instances of the built service on one database, and what clients need there. */
export interface Instances {
  instances: Instance[]
  admins: string[]
  scene: Scene
}

export class Lab implements Instances {
  primary!: Server
  standby!: Server
  /** The ways to the server that was made first (one for each instance), and to the one that was made second. */
  lines!: [TcpProxy, TcpProxy, TcpProxy]
  instances: Instance[] = []
  admins: string[] = []
  scene!: Scene
  readonly options: LabOptions

  constructor(options: LabOptions) {
    this.options = options
  }

  async open(): Promise<this> {
    const { version, synchronous, tablespace, through, max_conns } = this.options
    this.primary = await Server.make(version)
    await this.primary.start()
    await this.primary.sql('CREATE ROLE service LOGIN')
    if (tablespace) await this.primary.sql(`CREATE TABLESPACE small LOCATION '${tablespace}'`)
    await this.primary.sql(`CREATE DATABASE service OWNER service ${tablespace ? 'TABLESPACE small' : ''}`)
    if (!tablespace) await this.addStandby()
    if (synchronous) await this.primary.set('synchronous_standby_names', '*')
    const second = tablespace ? this.primary : this.standby
    this.lines = [await openProxy(this.primary.dsn), await openProxy(this.primary.dsn), await openProxy(second.dsn)]
    const [first, own, other] = this.lines.map(({ dsn }) => Number(new URL(dsn).port)) as [number, number, number]
    const to = (port: number) =>
      through?.([port, other]) ??
      `postgres://service@127.0.0.1:${port},127.0.0.1:${other}/service?target_session_attrs=read-write&sslmode=disable`
    Object.assign(this, await openInstances([await to(first), await to(own)], max_conns))
    return this
  }

  /** Makes a standby of the primary, in the place of one that is gone. */
  async addStandby(port?: number): Promise<void> {
    this.standby = await this.primary.backup(port)
    this.standby.follow(this.primary)
    await this.standby.start()
    await eventually(async () => (await this.primary.sql('SELECT 1 FROM pg_stat_replication')).length === 1, 30_000)
  }

  /** After a failover: the standby is the primary now, and gets a standby of its own. */
  async renew(): Promise<void> {
    const lost = this.primary
    this.primary = this.standby
    // The dead one may come back only as what the living one makes of it.
    await lost.remove()
    await this.primary.set('synchronous_standby_names', '')
    await this.addStandby(lost.port)
    if (this.options.synchronous) await this.primary.set('synchronous_standby_names', '*')
    for (const line of this.lines) line.resume()
  }

  /** The servers that may have connections. */
  servers(): Server[] {
    return [this.primary, this.standby].filter(Boolean)
  }

  /** The ways to a server. */
  linesTo({ port }: Server): TcpProxy[] {
    return this.lines.filter(({ to }) => to === port)
  }

  async close(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.kill()))
    await Promise.all(this.servers().map((server) => server.remove()))
    for (const line of this.lines ?? []) line.close()
  }
}

/** Starts an instance for each connection string. */
export async function openInstances(dsns: readonly string[], max_conns: number): Promise<Instances> {
  const [instances, admins]: [Instance[], string[]] = [[], []]
  const ports = await Promise.all(dsns.flatMap(() => [freePort(), freePort()]))
  const issuer = `http://localhost:${ports[0]}`
  const shared = {
    SERVICE_SERVER_ISSUER: issuer,
    SERVICE_SESSION_SECRET: newSecret(),
    SERVICE_ADMIN_API_KEY: ADMIN_KEY,
    SERVICE_RATE_LIMIT_ENABLED: 'false',
    SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
    SERVICE_LOG_LEVEL: 'warn',
    SERVICE_DPOP_PROOF_LIFETIME: '300s',
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_MAX_CONNS: `${max_conns}`,
    SERVICE_STORAGE_POSTGRES_MIN_CONNS: `${Math.min(5, max_conns)}`,
    SERVICE_SIGNING_KEY_STORE: 'postgres_key',
    SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master',
    SERVICE_DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_SIGNING_KEY_PATH: path.join(tempFolder(), 'keys'),
  }
  for (const [i, dsn] of dsns.entries()) {
    const instance = new Instance({
      ...shared,
      SERVICE_SERVER_ADDRESS: `127.0.0.1:${ports[2 * i]}`,
      SERVICE_ADMIN_ADDRESS: `127.0.0.1:${ports[2 * i + 1]}`,
      // How its connections are told from those of the other one.
      SERVICE_STORAGE_POSTGRES_DSN: `${dsn}&application_name=instance-${i}`,
    })
    await instance.start()
    instances.push(instance)
    admins.push(`http://127.0.0.1:${ports[2 * i + 1]}`)
  }
  return { instances, admins, scene: await openScene(issuer, admins[0] as string) }
}
