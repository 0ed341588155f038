// Starts the service as it ships for a measurement: a process on loopback with a database and keys of its own.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '../../src/config/env.ts'
import { programFile } from '../../src/lib/paths.ts'
import { callLoopback } from '../load/loopback.ts'
import { cookieHeader, registerEverything, signIn } from '../load/register.ts'
import { startIdp } from '../load/signer.ts'
import {
  authorizeQuery,
  type BenchClients,
  type BenchTarget,
  freePort,
  GATEWAY_RESOURCE,
  hotAndCold,
  REDIRECT_URI,
  RESOURCE,
  SCOPE,
  VERIFIER,
} from '../load/target.ts'
import { pinned, start, stop, tempDir } from './children.ts'
import { storageEnv } from './databases.ts'
import type { BenchDatabase } from './probe.ts'
import type { AlgName } from './settings.ts'
import { connectionsFor, processorsOf, restOf, type ServerShape, shapeName } from './shapes.ts'

export interface ServiceOptions {
  clients: BenchClients
  alg: AlgName
  /** Default: a new file in a temporary folder. */
  database?: BenchDatabase
  /** Number of instances; several share a PostgreSQL database. */
  instances?: number
  /** Its processors and front threads. Default: all processors, and the front threads of the configuration. */
  shape?: ServerShape
  /** Its SERVICE_ variables are passed to the service, to measure settings other than the defaults. */
  env: Env
}

const PATHS: BenchTarget['paths'] = {
  token: '/oauth/token',
  introspection: '/oauth/introspect',
  revocation: '/oauth/revoke',
  par: '/oauth/par',
  login: '/login',
  metadata: '/.well-known/oauth-authorization-server',
}
const START_SECONDS = 30
const LOG_CHARACTERS = 10_000

/** The SERVICE_ variables of the caller. */
export const callersSettings = (env: Env): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('SERVICE_')))

/**
 * Starts `service serve` and registers clients, resources and a user who has consented. Returns the service as a target and, with
 * several instances, all of them as a second target. Rejects when the service does not become ready.
 */
export async function startService({
  clients,
  alg,
  database,
  env,
  instances = 1,
  shape,
}: ServiceOptions): Promise<[BenchTarget, ...BenchTarget[]]> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const base = `http://127.0.0.1:${port}`
  const admin = { base: `http://127.0.0.1:${adminPort}`, key: randomBytes(32).toString('hex') }
  const cwd = tempDir()
  const stored: BenchDatabase = database ?? { driver: 'sqlite', file: path.join(cwd, 'service.db') }
  const settings = {
    ...serviceEnv(env, { port, adminPort, key: admin.key, alg, stored }),
    ...(shape && { SERVICE_SERVER_FRONT_THREADS: String(shape.frontThreads) }),
  }
  const running = runner(cwd, base, settings, shape && processorsOf(shape))
  await running.start()
  const idp = await startIdp()
  const { machines, keyedMachines, app, gateway, user } = await registerEverything({
    admin: `${admin.base}/admin`,
    key: admin.key,
    machines: clients.hot + clients.cold,
    keyedMachines: clients.hot,
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    resource: RESOURCE,
    gatewayResource: GATEWAY_RESOURCE,
    idp,
  })
  const authorizePath = (resource: string) => `/oauth/authorize?${authorizeQuery(app, resource)}`
  const cookies = new Map<string, string>()
  // The second consent is for the resource into which the gateway exchanges the tokens of the user.
  for (const resource of [RESOURCE, GATEWAY_RESOURCE]) await signIn(base + authorizePath(resource), user, cookies)
  const one: BenchTarget = {
    ...hotAndCold(machines, clients),
    keyedMachines,
    name: shape ? shapeName(shape) : 'service',
    isService: true,
    connections: shape && connectionsFor(shape),
    loadProcessors: shape && restOf(shape),
    base,
    paths: PATHS,
    scope: SCOPE,
    resource: RESOURCE,
    signedIn: { app, authorizePath: authorizePath(RESOURCE), cookie: cookieHeader(cookies), verifier: VERIFIER },
    user,
    gateway: { machine: gateway, resource: GATEWAY_RESOURCE, idp },
    introspectedResource: RESOURCE,
    probe: () => ({ pid: running.pid(), admin, database: stored }),
    restart: running.restart,
    stop: running.stop,
  }
  if (instances === 1) return [one]
  const others = await Promise.all(Array.from({ length: instances - 1 }, () => startAnother(settings, admin.key)))
  return [one, severalOf(one, others)]
}

interface ServiceSettings {
  port: number
  adminPort: number
  /** The admin key. */
  key: string
  alg: AlgName
  stored: BenchDatabase
}

function serviceEnv(env: Env, { port, adminPort, key, alg, stored }: ServiceSettings): NodeJS.ProcessEnv {
  return {
    PATH: env['PATH'],
    NODE_ENV: 'production',
    SERVICE_LOG_LEVEL: 'warn',
    SERVICE_RATE_LIMIT_ENABLED: 'false',
    ...callersSettings(env),
    SERVICE_SERVER_ISSUER: `http://127.0.0.1:${port}`,
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    SERVICE_ADMIN_API_KEY: key,
    SERVICE_SESSION_SECRET: randomBytes(32).toString('hex'),
    // All sign-ins come from one address.
    SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0',
    SERVICE_SIGNING_ALGORITHM: alg,
    ...storageEnv(stored),
    ...(stored.driver === 'postgres'
      ? {
          SERVICE_SIGNING_KEY_STORE: 'postgres_key',
          SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master',
          SERVICE_DATA_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
        }
      : {}),
    // The keys of the identity provider are on loopback.
    SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
  }
}

/** All instances as one target. */
const severalOf = (one: BenchTarget, others: Awaited<ReturnType<typeof startAnother>>[]): BenchTarget => ({
  ...one,
  name: `service, ${others.length + 1} instances`,
  otherBases: others.map((other) => other.base),
  probe: () => ({ ...one.probe(), others: others.map((other) => other.probe()) }),
  async restart() {
    for (const each of [one, ...others]) await each.restart?.()
  },
  stop: async () => void (await Promise.all(others.map((other) => other.stop()))),
})

/** Starts another instance of a running service, which differs only in its addresses. */
async function startAnother(settings: NodeJS.ProcessEnv, key: string) {
  const [port, adminPort] = [await freePort(), await freePort()]
  const base = `http://127.0.0.1:${port}`
  const running = runner(tempDir(), base, {
    ...settings,
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
  })
  await running.start()
  const probe = () => ({ pid: running.pid(), admin: { base: `http://127.0.0.1:${adminPort}`, key } })
  return { base, probe, restart: running.restart, stop: running.stop }
}

/** A process of the service that can be restarted. */
function runner(cwd: string, base: string, env: NodeJS.ProcessEnv, processors?: string) {
  let child: ChildProcess | undefined
  let log = ''
  const running = {
    pid: () => child?.pid,
    stop: async () => child && stop(child),
    async start() {
      const command = pinned(processors, process.execPath, [programFile('service'), 'serve', '--new-keys'])
      const started = start(...command, {
        cwd,
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = started
      for (const stream of [started.stdout, started.stderr])
        stream?.on('data', (chunk: Buffer) => {
          log = (log + chunk).slice(-LOG_CHARACTERS)
        })
      await untilReady(started, base, () => log)
    },
    async restart() {
      await running.stop()
      await running.start()
    },
  }
  return running
}

async function untilReady(child: ChildProcess, base: string, log: () => string): Promise<void> {
  for (const end = Date.now() + START_SECONDS * 1000; Date.now() < end; await sleep(20)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the service did not start:\n${log()}`)
    const ready = await callLoopback(`${base}/ready`).catch(() => undefined)
    if (ready?.status === 200) return
  }
  throw new Error(`the service was not ready within ${START_SECONDS} s:\n${log()}`)
}
