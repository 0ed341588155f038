// The public and the admin listener: routes, limits and HTTP engine of each.
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { renderAuthorizeError } from '../endpoints/authorize.ts'
import { scrapeRoutes } from '../endpoints/metrics.ts'
import { probeRoutes, publicRoutes } from '../endpoints/routes.ts'
import { AddressShare } from '../http/address_share.ts'
import { ROOM_BYTES } from '../http/body_room.ts'
import type { Accept, HttpListener, HttpListenerOptions } from '../http/listener.ts'
import type { Reply, Request } from '../http/message.ts'
import { openNode } from '../http/node.ts'
import { createAddressReader } from '../http/proxies.ts'
import { TokenBucket } from '../http/rate_limit.ts'
import type { Route } from '../http/route.ts'
import { createRouter, type RouterOptions } from '../http/router.ts'
import { loadNative, openUws } from '../http/uws.ts'
import type { OAuthError } from '../lib/error.ts'
import { MAX_SCIM_BODY, scimRoutes } from '../scim/routes.ts'
import { type ActivityStep, countsOf, type RequestCounts } from '../telemetry/client_activity.ts'
import { type ClientFailure, shownSent, shownText } from '../telemetry/client_failures.ts'
import type { Logger } from '../telemetry/logger.ts'
import { openFrontPool } from './front_pool.ts'
import { requestRate, shareWhileEnabled, whileEnabled } from './request_limit.ts'

/** Opens the public listener and, when it is enabled, the admin listener. When the service reports ready, both are open. */
export async function* openListeners(app: App): AsyncGenerator<HttpListener> {
  const { admin, server } = app.config
  const hasThreads = server.front_threads > 1
  // The first front thread serves while the others still start, so the admin listener opens before it.
  if (admin.enabled && hasThreads) yield await openAdmin(app)
  const listener = await (hasThreads ? openFrontPool(app) : openPublicListener(app))
  app.engines.public = listener.engine
  yield listener
  if (admin.enabled && !hasThreads) yield await openAdmin(app)
}

/** The limits on requests of the public listener. */
export type RequestLimits = Required<Pick<RouterOptions, 'limiter' | 'share'>>

/** Opens the public listener in this thread. `limits` are the share of this process in the request limit. Rejects when the address is taken. */
export async function openPublicListener(app: App, limits: RequestLimits = ownLimits(app)): Promise<HttpListener> {
  const { server } = app.config
  const proxies = server.trusted_proxies
  const options = frontOptions(app, server.address, {
    routes: [...publicRoutes(app), ...scimRoutes(app), ...scrapeRoutes(app, 'public')],
    errors: app.config.oauth.error_content_type,
    allowedOrigins: server.allowed_origins,
    renderUnknown: (error, request) => renderAuthorizeError(app, error, request),
    ...limits,
    addressOf: proxies.length > 0 ? createAddressReader(proxies) : peerOf(app),
    onStep: (step, request, reply, error) => {
      if (step === 'token') app.series.answered((performance.now() - request.startedMs) / 1000)
      recordStep(app, step, request, reply, error)
    },
  })
  // The memory limit for incomplete bodies holds for the process.
  const bodyRoomBytes = Math.floor(ROOM_BYTES / server.front_threads)
  // Callers without a key can begin such bodies, too: they get a quarter, and at least one body.
  const largeBodyBytes = Math.max(Math.floor(bodyRoomBytes / 4), MAX_SCIM_BODY)
  const shared = server.front_threads > 1
  return openEngine(app.config, app.log, { ...options, shared, bodyRoomBytes, largeBodyBytes })
}

/** Without trusted proxies the address is that of the peer. A forwarded address is ignored, counted, and once in a process warned of. */
const peerOf = ({ metrics, log }: Pick<App, 'metrics' | 'log'>): RouterOptions['addressOf'] => {
  let warned = false
  return ({ remote, headers }) => {
    if (headers['x-forwarded-for'] !== undefined) {
      metrics.count('ext_forwarded_for_ignored_total')
      if (!warned) log.warn({ remote }, FORWARDED)
      warned = true
    }
    return remote
  }
}
const FORWARDED =
  'a request has X-Forwarded-For and server.trusted_proxies is empty: limits, lockouts and the audit trail use the address of the peer. If that is a proxy of yours, list its address'

function ownLimits({ config, store, clientShare }: App): RequestLimits {
  const rate = requestRate(config)
  const share = new AddressShare(rate)
  const among = () => {
    const instances = store.driver.instances()
    share.divideAmong(instances)
    clientShare.divideAmong(instances)
    return instances
  }
  return {
    limiter: whileEnabled(config, new TokenBucket(rate, among)),
    share: shareWhileEnabled(config, share),
  }
}

/** The message that the client received, and the redirect URI that is not registered: the page that refuses it does not show it. */
const detailOf = ({ message, more: { sent } }: OAuthError): string =>
  sent?.parameter === 'redirect_uri' ? `${message}: ${shownText(sent.value)}` : message

/** Adds the outcome of a step to the client activity, with the error message that the client received. */
function recordStep(app: App, step: ActivityStep, request: Request, reply: Reply, error?: OAuthError): void {
  const { client_id = '', issued, inactive, remark } = request.notes
  const at = app.clock.now()
  const status = error?.status ?? reply.status
  const sent = error?.more.sent && shownSent(error.more.sent)
  app.activity.record(client_id, request.remote, {
    step,
    at,
    status,
    error: error?.code,
    detail: error ? detailOf(error) : remark?.text,
    reason: error ? error.reason : (remark?.reason ?? inactive),
    parameter: sent?.parameter,
    sent: sent?.sent,
    allowed: sent?.allowed,
    request_id: request.id,
  })
  const user = issued && issued.sub !== issued.client_id ? issued.sub : undefined
  const counts = countsOf({ step, status, error: error?.code })
  app.sums.record(at, { client: error ? undefined : client_id, resource: issued?.resource, user }, counts)
  if (!error || !client_id) return
  const { remote: address, id: request_id } = request
  const failure = { client_id, address, step, status, request_id, ...failureOf(error, at), ...sent }
  void recordRefusal(app, failure, counts)
}

/**
 * Adds a refusal to the sums and failures of its client. Only a client that exists has any: callers can invent any number of ids, which would
 * displace those of clients, and many refusals come before the client is looked up. The request does not wait, and the lookup is cached.
 */
async function recordRefusal({ store, sums, failures }: App, failure: ClientFailure, counts: RequestCounts) {
  const { client_id, last_at: at } = failure
  const client = await store.findClient({ client_id }).catch(() => undefined)
  if (!client) return
  sums.add({ at, sums: [{ kind: 'client', name: client_id, ...counts }] })
  failures.add(failure)
}

const failureOf = (error: OAuthError, at: number) => ({
  error: error.code,
  reason: error.reason,
  detail: shownText(error.message),
  count: 1,
  first_at: at,
  last_at: at,
})

/** Opens the configured engine; node:http when no native build loads. */
async function openEngine({ server }: Config, log: Logger, options: HttpListenerOptions): Promise<HttpListener> {
  if (server.http_engine === 'node') return openNode(options)
  if (server.http_engine === 'uws' || loadNative()) return openUws(options)
  log.warn(
    'no native build of uWebSockets.js loads on this platform: serving with node:http, which is several times slower',
  )
  return openNode(options)
}

/** Opens the admin listener. The first request that is not a scrape loads the admin API: it is a quarter of the program, and most processes never need it. */
async function openAdmin(app: App): Promise<HttpListener> {
  // Without the admin API, which is loaded with its first request.
  const light = [...scrapeRoutes(app, 'admin'), ...probeRoutes(app)]
  const open = (routes: readonly Route[]) => frontOptions(app, app.config.admin.address, { routes, allowedOrigins: [] })
  const options = open(light)
  let api: Promise<Accept> | undefined
  const load = async () => {
    const { adminRoutes } = await import('../admin/rest.ts')
    const { mcpRoutes } = await import('../mcp/http.ts')
    return open([...adminRoutes(app), ...mcpRoutes(app)]).accept
  }
  const accept: Accept = async (head) => {
    if (light.some(({ path }) => path === head.path)) return options.accept(head)
    api ??= load()
    return (await api)(head)
  }
  const listener = await openNode({ ...options, accept })
  app.engines.admin = listener.engine
  return listener
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
  { config, metrics, tracer, log, requests, lifecycle }: App,
  address: string,
  router: Omit<RouterOptions, 'headers' | 'metrics' | 'tracer' | 'requests' | 'isDraining'>,
): HttpListenerOptions {
  const headers = { ...SECURITY_HEADERS, ...hsts(config) }
  return {
    address,
    accept: createRouter({ ...router, headers, metrics, tracer, requests, isDraining: () => lifecycle.draining }),
    readTimeoutMs: config.server.read_timeout * 1000,
    writeTimeoutMs: config.server.write_timeout * 1000,
    idleTimeoutMs: config.server.idle_timeout * 1000,
    log,
  }
}
