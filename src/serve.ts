// `service serve`: both listeners up, warnings said, signals handled, everything drained at the end.
import { adminRoutes } from './admin/rest.ts'
import { type App, type AppOptions, closeApp, openApp } from './app.ts'
import { loadConfig } from './config/load.ts'
import { warningsOf } from './config/notices.ts'
import type { Env } from './config/rules.ts'
import type { Config } from './config/schema.ts'
import { publicRoutes } from './endpoints/routes.ts'
import { ROOM_BYTES } from './http/body_room.ts'
import type { FrontOptions, HttpFront } from './http/front.ts'
import type { Reply, Request } from './http/message.ts'
import { openNode } from './http/node.ts'
import { createAddressReader } from './http/proxies.ts'
import { type Limiter, TokenBucket } from './http/rate_limit.ts'
import { createRouter, type RouterOptions } from './http/router.ts'
import { loadNative, openUws } from './http/uws.ts'
import { openFronts } from './hub.ts'
import { readBuild } from './lib/build.ts'
import type { OAuthError } from './lib/error.ts'
import { effectiveDcrMode } from './oauth/registration_mode.ts'
import { seed } from './seed.ts'
import type { Logger } from './telemetry/logger.ts'
import { openTelemetry } from './telemetry/open.ts'
import { scrapeRoutes } from './telemetry/scrape.ts'
import type { Step } from './telemetry/trails.ts'

/** What `serve` does beside serving. */
export interface ServeOptions extends Pick<AppOptions, 'waits' | 'newKeys'> {
  /** Called once it listens. */
  onReady?: ((app: App) => void) | undefined
}

/** Runs the service until SIGTERM or SIGINT. Rejects with ConfigError, or when a part cannot be had; resolves to the exit code. */
export async function serve(file: string | undefined, env: Env, options: ServeOptions = {}): Promise<number> {
  const { config, warnings } = loadConfig(file, env)
  const telemetry = await openTelemetry(config, readBuild(), env)
  const { log } = telemetry
  const { onReady, ...how } = options
  const app = await openApp(config, log, { env, telemetry, ...how })
  const fronts: HttpFront[] = []
  try {
    for (const say of [...warnings, ...warningsOf(config, await effectiveDcrMode(app))]) log.warn(say)
    await seed(app)
    app.metrics.addProcessMetrics()
    for await (const front of openListeners(app)) fronts.push(front)
    log.info(
      {
        ...app.build,
        issuer: config.server.issuer,
        address: config.server.address,
        engine: app.engines.public,
        admin: config.admin.enabled ? config.admin.address : false,
      },
      'ready',
    )
    onReady?.(app)
    void lookUpstream(app)
    const signal = await Promise.race([untilSignal(app), ...fronts.flatMap(({ failed }) => failed ?? [])])
    log.info({ signal }, 'shutting down')
    return 0
  } finally {
    app.lifecycle.draining = true
    const waitMs = config.server.shutdown_wait * 1000
    await Promise.all(fronts.map((front) => front.close(waitMs)))
    await closeApp(app)
    log.info('stopped')
    await telemetry.close()
  }
}

/** A provider that is not what the configuration says should be noticed before people do. It is looked for again when they come. */
async function lookUpstream({ oidc, log }: App): Promise<void> {
  await oidc?.find().catch((error: unknown) => {
    log.warn({ err: error }, 'the identity provider of oidc.issuer cannot be used now')
  })
}

/** Opens the listeners of an app: the public one and, where it is enabled, the admin one. Whoever finds the service ready finds both. */
export async function* openListeners(app: App): AsyncGenerator<HttpFront> {
  const { admin, server } = app.config
  const hasThreads = server.front_threads > 1
  // The first thread serves while the others still start.
  if (admin.enabled && hasThreads) yield await openAdmin(app)
  const front = await (hasThreads ? openFronts(app) : openFront(app))
  app.engines.public = front.engine
  yield front
  if (admin.enabled && !hasThreads) yield await openAdmin(app)
}

/** Resolves with the first SIGTERM or SIGINT; a second one ends the process at once. SIGHUP reloads the keys. */
function untilSignal(app: App): Promise<string> {
  process.on('SIGHUP', () => void reloadKeys(app))
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal))
  })
}

async function reloadKeys({ keyring, log, metrics }: App): Promise<void> {
  const startedMs = performance.now()
  try {
    await keyring.reload()
    log.info({ kid: keyring.current().kid }, 'signing keys reloaded')
  } catch (error) {
    log.error({ err: error }, 'the signing keys could not be reloaded; the ones before stay in use')
  }
  metrics.observe('core_key_reload_duration_seconds', (performance.now() - startedMs) / 1000)
}

/** Opens the public listener in this thread, with the share of this process in the limit on requests. Rejects when its address is taken. */
export async function openFront(app: App, limiter: Limiter | undefined = ownLimiter(app)): Promise<HttpFront> {
  const { server } = app.config
  const proxies = server.trusted_proxies
  const options = frontOptions(app, server.address, {
    routes: [...publicRoutes(app), ...scrapeRoutes(app, 'public')],
    allowedOrigins: server.allowed_origins,
    limiter,
    addressOf: proxies.length > 0 ? createAddressReader(proxies) : undefined,
    onStep: (step, request, reply, error) => {
      if (step === 'token') app.series.answered((performance.now() - request.startedMs) / 1000)
      leaveTrail(app, step, request, reply, error)
    },
  })
  // The memory for what is still coming is that of the process.
  const bodyRoomBytes = Math.floor(ROOM_BYTES / server.front_threads)
  return openEngine(app.config, app.log, { ...options, shared: server.front_threads > 1, bodyRoomBytes })
}

const ownLimiter = ({ config: { rate_limit }, store }: App): Limiter | undefined =>
  rate_limit.enabled
    ? new TokenBucket(rate_limit.requests_per_second, rate_limit.burst, store.driver.instances)
    : undefined

/** Remembers how a step went, in the words that the client was told. */
function leaveTrail({ trails, clock }: App, step: Step, request: Request, reply: Reply, error?: OAuthError): void {
  trails.record(request.notes.client_id ?? '', request.remote, {
    step,
    at: clock.now(),
    status: error?.status ?? reply.status,
    ...(error ? { error: error.code, detail: error.message, reason: error.reason } : {}),
    ...(request.notes.inactive ? { reason: request.notes.inactive } : {}),
    request_id: request.id,
  })
}

/** The engine that was asked for; node:http where no native build loads. */
async function openEngine({ server }: Config, log: Logger, options: FrontOptions): Promise<HttpFront> {
  if (server.http_engine === 'node') return openNode(options)
  if (server.http_engine === 'uws' || loadNative()) return openUws(options)
  log.warn(
    'no native build of uWebSockets.js loads on this platform: serving with node:http, which is several times slower',
  )
  return openNode(options)
}

async function openAdmin(app: App): Promise<HttpFront> {
  const options = frontOptions(app, app.config.admin.address, {
    routes: [...adminRoutes(app), ...scrapeRoutes(app, 'admin')],
    allowedOrigins: [],
  })
  const front = await openNode(options)
  app.engines.admin = front.engine
  return front
}

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}
const HSTS = { 'strict-transport-security': 'max-age=63072000; includeSubDomains' }

function frontOptions(
  { config, metrics, tracer, log, requests }: App,
  address: string,
  router: Omit<RouterOptions, 'headers' | 'metrics' | 'tracer' | 'requests'>,
): FrontOptions {
  const headers = { ...SECURITY_HEADERS, ...(config.session.secure ? HSTS : {}) }
  return {
    address,
    accept: createRouter({ ...router, headers, metrics, tracer, requests }),
    readTimeoutMs: config.server.read_timeout * 1000,
    writeTimeoutMs: config.server.write_timeout * 1000,
    idleTimeoutMs: config.server.idle_timeout * 1000,
    log,
  }
}
