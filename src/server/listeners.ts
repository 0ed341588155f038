// The public and the admin listener: routes, limits and HTTP engine of each.
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { scrapeRoutes } from '../endpoints/metrics.ts'
import { publicRoutes } from '../endpoints/routes.ts'
import { ROOM_BYTES } from '../http/body_room.ts'
import type { Accept, FrontOptions, HttpFront } from '../http/front.ts'
import type { Reply, Request } from '../http/message.ts'
import { openNode } from '../http/node.ts'
import { createAddressReader } from '../http/proxies.ts'
import { type Limiter, TokenBucket } from '../http/rate_limit.ts'
import type { Route } from '../http/route.ts'
import { createRouter, type RouterOptions } from '../http/router.ts'
import { loadNative, openUws } from '../http/uws.ts'
import type { OAuthError } from '../lib/error.ts'
import type { ActivityStep } from '../telemetry/client_activity.ts'
import type { Logger } from '../telemetry/logger.ts'
import { openFrontPool } from './front_pool.ts'
import { requestRate, whileEnabled } from './request_limit.ts'

/** Opens the public listener and, when it is enabled, the admin listener. When the service reports ready, both are open. */
export async function* openListeners(app: App): AsyncGenerator<HttpFront> {
  const { admin, server } = app.config
  const hasThreads = server.front_threads > 1
  // The first front thread serves while the others still start, so the admin listener opens before it.
  if (admin.enabled && hasThreads) yield await openAdmin(app)
  const front = await (hasThreads ? openFrontPool(app) : openFront(app))
  app.engines.public = front.engine
  yield front
  if (admin.enabled && !hasThreads) yield await openAdmin(app)
}

/** Opens the public listener in this thread. `limiter` is the share of this process in the request limit. Rejects when the address is taken. */
export async function openFront(app: App, limiter: Limiter = ownLimiter(app)): Promise<HttpFront> {
  const { server } = app.config
  const proxies = server.trusted_proxies
  const options = frontOptions(app, server.address, {
    routes: [...publicRoutes(app), ...scrapeRoutes(app, 'public')],
    allowedOrigins: server.allowed_origins,
    limiter,
    addressOf: proxies.length > 0 ? createAddressReader(proxies) : undefined,
    onStep: (step, request, reply, error) => {
      if (step === 'token') app.series.answered((performance.now() - request.startedMs) / 1000)
      recordStep(app, step, request, reply, error)
    },
  })
  // The memory limit for incomplete bodies holds for the process.
  const bodyRoomBytes = Math.floor(ROOM_BYTES / server.front_threads)
  return openEngine(app.config, app.log, { ...options, shared: server.front_threads > 1, bodyRoomBytes })
}

const ownLimiter = ({ config, store }: App): Limiter =>
  whileEnabled(config, new TokenBucket(requestRate(config), store.driver.instances))

/** Adds the outcome of a step to the client activity, with the error message that the client received. */
function recordStep(
  { activity, clock }: App,
  step: ActivityStep,
  request: Request,
  reply: Reply,
  error?: OAuthError,
): void {
  activity.record(request.notes.client_id ?? '', request.remote, {
    step,
    at: clock.now(),
    status: error?.status ?? reply.status,
    ...(error ? { error: error.code, detail: error.message, reason: error.reason } : {}),
    ...(request.notes.inactive ? { reason: request.notes.inactive } : {}),
    ...(request.notes.remark && !error
      ? { detail: request.notes.remark.text, reason: request.notes.remark.reason }
      : {}),
    request_id: request.id,
  })
}

/** Opens the configured engine; node:http when no native build loads. */
async function openEngine({ server }: Config, log: Logger, options: FrontOptions): Promise<HttpFront> {
  if (server.http_engine === 'node') return openNode(options)
  if (server.http_engine === 'uws' || loadNative()) return openUws(options)
  log.warn(
    'no native build of uWebSockets.js loads on this platform: serving with node:http, which is several times slower',
  )
  return openNode(options)
}

/** Opens the admin listener. The first request that is not a scrape loads the admin API: it is a quarter of the program, and most processes never need it. */
async function openAdmin(app: App): Promise<HttpFront> {
  const scraped = scrapeRoutes(app, 'admin')
  const open = (routes: readonly Route[]) => frontOptions(app, app.config.admin.address, { routes, allowedOrigins: [] })
  const options = open(scraped)
  let api: Promise<Accept> | undefined
  const load = async () => {
    const { adminRoutes } = await import('../admin/rest.ts')
    return open(adminRoutes(app)).accept
  }
  const accept: Accept = async (head) => {
    if (scraped.some(({ path }) => path === head.path)) return options.accept(head)
    api ??= load()
    return (await api)(head)
  }
  const front = await openNode({ ...options, accept })
  app.engines.admin = front.engine
  return front
}

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}
const HSTS_MAX_AGE = 'max-age=63072000'

/** The Strict-Transport-Security header (RFC 6797). Only over https, because browsers ignore it over plain http. */
function hsts({ server, session }: Config): Record<string, string> {
  if (!session.secure) return {}
  const scope = server.hsts_include_subdomains ? '; includeSubDomains' : ''
  return { 'strict-transport-security': HSTS_MAX_AGE + scope }
}

function frontOptions(
  { config, metrics, tracer, log, requests }: App,
  address: string,
  router: Omit<RouterOptions, 'headers' | 'metrics' | 'tracer' | 'requests'>,
): FrontOptions {
  const headers = { ...SECURITY_HEADERS, ...hsts(config) }
  return {
    address,
    accept: createRouter({ ...router, headers, metrics, tracer, requests }),
    readTimeoutMs: config.server.read_timeout * 1000,
    writeTimeoutMs: config.server.write_timeout * 1000,
    idleTimeoutMs: config.server.idle_timeout * 1000,
    log,
  }
}
