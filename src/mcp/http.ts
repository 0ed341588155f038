// The routes of MCP on the admin listener: Streamable HTTP at /mcp, without sessions, and the metadata of the resource.
import type { McpHttpHandler } from '@modelcontextprotocol/server'
import { adminResources } from '../admin/index.ts'
import { presentResources } from '../admin/openapi.ts'
import { perform } from '../admin/perform.ts'
import { issuerOf } from '../config/issuer.ts'
import type { App } from '../context.ts'
import { splitAddress } from '../http/listener.ts'
import { json, NO_STORE, type Reply, type Request, type RequestHead } from '../http/message.ts'
import { asOAuthError } from '../http/problem.ts'
import type { Method, Route } from '../http/route.ts'
import { OAuthError } from '../lib/error.ts'
import { isLoopbackHost } from '../lib/url.ts'
import { sentBy } from '../oauth/audit.ts'
import { ADMIN_SCOPES } from '../oauth/tokens/admin_resource.ts'
import { createMcpAccess, type McpCaller, METADATA, refuseBeyondScope } from './access.ts'
import type { Send } from './call.ts'
import { type Tool, toolsFor, toolsOf } from './tools.ts'

const MAX_BODY = 1024 * 1024
/** The routes of MCP that the configuration enables. */
export function mcpRoutes(app: App): Route[] {
  if (!app.config.admin.mcp.enabled) return []
  const callers: Callers = new WeakMap()
  const serve = createServing(app, callers)
  const guard = guardOf(app, callers)
  const methods: Method[] = ['GET', 'POST', 'DELETE']
  return [
    ...methods.map(
      (method): Route => ({
        method,
        path: '/mcp',
        guard,
        ...(method === 'POST' ? { body: { type: 'json', limit: MAX_BODY } } : {}),
        handle: serve,
      }),
    ),
    { method: 'GET', path: `${METADATA}/mcp`, cors: true, handle: () => json(200, metadataOf(app), NO_STORE) },
  ]
}

const metadataOf = ({ config }: App) => ({
  resource: config.admin.mcp.url,
  authorization_servers: [issuerOf(config)],
  scopes_supported: ADMIN_SCOPES.map(({ name }) => name),
  bearer_methods_supported: ['header'],
  resource_name: 'Administration of the authorization server',
})

/** The callers of requests that were admitted. */
type Callers = WeakMap<RequestHead, McpCaller>

/** Refuses a foreign page before it looks at the key or token, and asks for a token as MCP does. */
function guardOf(app: App, callers: Callers): (head: RequestHead) => Promise<void> {
  const { mcp, address } = app.config.admin
  const isOwn = createHostCheck(mcp.url, splitAddress(address).port)
  const find = createMcpAccess(app)
  return async (head) => {
    if (!isOwn(head))
      throw new OAuthError('access_denied', 'this page or host name is not that of admin.mcp.url', {
        reason: 'foreign_origin',
      })
    callers.set(head, await find(head))
  }
}

/** Whether a request has the host of the URL or a loopback host with the port of the listener, and no Origin of another page. */
function createHostCheck(url: string, port: number): (head: RequestHead) => boolean {
  const { origin, host: own, protocol } = new URL(url)
  return ({ headers }) => {
    if (headers['origin'] !== undefined && headers['origin'] !== origin) return false
    const given = `${protocol}//${headers['host'] ?? ''}`
    if (!URL.canParse(given)) return false
    const { host, hostname, port: at } = new URL(given)
    if (host === own) return true
    const isHere = Number(at || (protocol === 'https:' ? 443 : 80)) === port
    return isHere && isLoopbackHost(hostname)
  }
}

/** What the caller of a request may do. */
interface Grant {
  tools: readonly Tool[]
  send: Send
}

const NOTHING: Grant = { tools: [], send: () => Promise.reject(new Error('not admitted')) }

/** The cause of an internal error is shown only in the log. */
function refusalFor({ log }: App, error: unknown): OAuthError {
  const refusal = asOAuthError(error)
  if (refusal.code === 'server_error') log.error({ err: refusal.more.cause ?? refusal }, 'a tool failed')
  return refusal
}

/** Serves requests. The SDK is loaded by the first one. */
function createServing(app: App, callers: Callers): Route['handle'] {
  let opened: Promise<McpHttpHandler> | undefined
  let all: readonly Tool[] | undefined
  return async (request) => {
    opened ??= open(app)
    const { fetch: answer } = await opened
    const caller = callers.get(request)
    if (!caller) throw new OAuthError('unauthorized', 'the request was not admitted', { reason: 'not_guarded' })
    all ??= toolsOf(presentResources(adminResources, app.config))
    const tools = toolsFor(all, caller.capability)
    refuseBeyondScope(app, caller, { tools, all: toolsFor(all, caller.most), body: request.body })
    const extra: Grant = { tools, send: sendFor(app, request, caller) }
    const authInfo = { token: '', clientId: '', scopes: [], extra: { ...extra } }
    return replyOf(await answer(webRequest(request, app.config.admin.mcp.url), { authInfo }))
  }
}

async function open(app: App): Promise<McpHttpHandler> {
  const [{ createMcpHandler }, { mcpServer }] = await Promise.all([
    import('@modelcontextprotocol/server'),
    import('./server.ts'),
  ])
  const factory = ({ authInfo }: { authInfo?: { extra?: Record<string, unknown> } }) => {
    const { tools, send } = (authInfo?.extra as unknown as Grant | undefined) ?? NOTHING
    return mcpServer({ tools, send, asRefusal: (error) => refusalFor(app, error) })
  }
  // Nothing that a client could subscribe to changes.
  return createMcpHandler(factory, {
    maxSubscriptions: 0,
    onerror: (error) => app.log.debug({ err: error }, 'an MCP request was refused'),
  })
}

const sendFor =
  (app: App, request: Request, { actor_id, capability }: McpCaller): Send =>
  async (action, input, tool, onStop) => {
    if (tool !== undefined) app.metrics.count('ext_mcp_calls_total', { tool })
    const caller = { actor_id, capability, ...sentBy(request), via: 'mcp' } as const
    const { shown, next } = await perform(app, action, input, caller)
    if (next) onStop?.(next.after)
    return shown
  }

function webRequest({ method, headers, body }: Request, url: string): globalThis.Request {
  const given = Object.entries(headers).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[0] !== 'authorization',
  )
  return new Request(url, { method, headers: given, ...(method === 'POST' ? { body: new Uint8Array(body) } : {}) })
}

async function replyOf(response: Response): Promise<Reply> {
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== 'content-length'))
  return { status: response.status, headers: { ...headers, ...NO_STORE }, body: await response.text() }
}
