// The two servers that are measured: the service as it ships, and the peer. Each runs as a process of its own on loopback.
import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../src/lib/paths.ts'
import { firstMessage, start, startFile, stop, tempDir } from './children.ts'
import type { PeerPlan } from './peer.ts'
import { cookieHeader, registerEverything, signIn } from './register.ts'
import { type Idp, startIdp } from './signer.ts'

/** A confidential client with client_credentials. */
export interface Machine {
  client_id: string
  client_secret: string
}
/** A public client with authorization_code and refresh_token. */
export interface App {
  client_id: string
  redirect_uri: string
}

/** A confidential client that exchanges tokens into a resource, and redeems assertions of an identity provider. */
export interface Gateway {
  machine: Machine
  resource: string
  idp: Idp
}

/** A server with everything registered that a work needs. */
export interface Target {
  readonly name: string
  readonly base: string
  readonly paths: { token: string; introspection: string; authorize: string }
  /** Clients of the works in rotation, and those that only the cold run uses. */
  readonly machines: readonly Machine[]
  readonly coldMachines: readonly Machine[]
  readonly app: App
  /** Only where there is a grant for it. */
  readonly gateway?: Gateway
  readonly scope: string
  readonly resource: string
  /** The resource of the tokens that are introspected. */
  readonly introspectedResource: string
  /** Of a user who is signed in and has consented. */
  readonly cookie: string
  readonly verifier: string
  pid(): number
  /** Starts the process anew: its caches are empty after it, its data is not. */
  restart(): Promise<void>
  /** What it logged. */
  log(): string
}

export interface TargetOptions {
  coldClients: number
}

const HOT_CLIENTS = 100
const START_SECONDS = 30
const SCOPE = 'mcp:read mcp:write'
const RESOURCE = 'https://mcp.example.com/mcp'
const GATEWAY_RESOURCE = 'https://mcp.example.com/behind-the-gateway'
const REDIRECT_URI = 'https://client.example.com/callback'
const VERIFIER = randomBytes(32).toString('base64url')
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

const shared = { scope: SCOPE, resource: RESOURCE, verifier: VERIFIER }
const hotAndCold = (machines: readonly Machine[]) => ({
  machines: machines.slice(0, HOT_CLIENTS),
  coldMachines: machines.slice(HOT_CLIENTS),
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Settings of the caller for the service (SERVICE_*), to measure another setting than the default one. */
export const callersSettings = (): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('SERVICE_')))

/** Starts `service serve` in an empty folder and registers clients, resources and a user who has consented. */
export async function startService({ coldClients }: TargetOptions): Promise<Target> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const base = `http://127.0.0.1:${port}`
  const adminKey = randomBytes(32).toString('hex')
  const env = {
    PATH: process.env['PATH'],
    NODE_ENV: 'production',
    SERVICE_LOG_LEVEL: 'warn',
    ...callersSettings(),
    SERVICE_SERVER_ISSUER: base,
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    SERVICE_ADMIN_API_KEY: adminKey,
    SERVICE_SESSION_SECRET: randomBytes(32).toString('hex'),
    SERVICE_RATE_LIMIT_ENABLED: 'false',
    // The keys of the identity provider are on loopback.
    SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
  }
  const cwd = tempDir()
  let log = ''
  const run = async () => {
    const child = start(process.execPath, [`${packageRoot}/dist/src/main.js`, 'serve'], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        log = (log + chunk).slice(-10_000)
      })
    await untilReady(child, base, () => log)
    return child
  }
  let child = await run()
  const idp = await startIdp()
  const { machines, app, gateway, user } = await registerEverything({
    admin: `http://127.0.0.1:${adminPort}/admin`,
    key: adminKey,
    machines: HOT_CLIENTS + coldClients,
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    resource: RESOURCE,
    gatewayResource: GATEWAY_RESOURCE,
    idp,
  })
  const authorize = (resource: string) => `/oauth/authorize?${authorizeQuery(app, resource)}`
  const cookies = new Map<string, string>()
  // The second consent is for what the gateway exchanges the user's tokens into.
  for (const resource of [RESOURCE, GATEWAY_RESOURCE]) await signIn(base + authorize(resource), user, cookies)
  return {
    ...shared,
    ...hotAndCold(machines),
    name: 'service',
    base,
    paths: { token: '/oauth/token', introspection: '/oauth/introspect', authorize: authorize(RESOURCE) },
    app,
    gateway: { machine: gateway, resource: GATEWAY_RESOURCE, idp },
    introspectedResource: RESOURCE,
    cookie: cookieHeader(cookies),
    pid: () => child.pid as number,
    log: () => log,
    async restart() {
      await stop(child)
      child = await run()
    },
  }
}

const authorizeQuery = ({ client_id, redirect_uri }: App, resource: string) =>
  new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri,
    scope: SCOPE,
    resource,
    state: 'bench',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  }).toString()

async function untilReady(child: ChildProcess, base: string, log: () => string): Promise<void> {
  for (const end = Date.now() + START_SECONDS * 1000; Date.now() < end; await sleep(20)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the service did not start:\n${log()}`)
    const ready = await fetch(`${base}/ready`, { signal: AbortSignal.timeout(1000) }).catch(() => undefined)
    if (ready?.status === 200) return
  }
  throw new Error(`the service was not ready within ${START_SECONDS} s:\n${log()}`)
}

/** Starts oidc-provider with the same clients. */
export async function startPeer({ coldClients }: TargetOptions): Promise<Target> {
  const port = await freePort()
  const plan: PeerPlan = {
    port,
    base: `http://127.0.0.1:${port}`,
    machines: Array.from({ length: HOT_CLIENTS + coldClients }, (_, i) => ({
      client_id: `machine-${i}`,
      client_secret: randomBytes(32).toString('base64url'),
    })),
    app: { client_id: 'app', redirect_uri: REDIRECT_URI },
    scope: SCOPE,
    resource: RESOURCE,
    opaqueResource: `${RESOURCE}/opaque`,
    authorizePath: '/bench/authorize',
  }
  const run = async () => {
    const started = startFile('peer', plan)
    await firstMessage(started, START_SECONDS)
    return started
  }
  let child = await run()
  return {
    ...shared,
    ...hotAndCold(plan.machines),
    name: 'oidc-provider',
    base: plan.base,
    paths: {
      token: '/token',
      introspection: '/token/introspection',
      authorize: `${plan.authorizePath}?${authorizeQuery(plan.app, RESOURCE)}`,
    },
    app: plan.app,
    introspectedResource: plan.opaqueResource,
    cookie: '',
    pid: () => child.pid as number,
    log: () => '',
    async restart() {
      await stop(child)
      child = await run()
    },
  }
}
