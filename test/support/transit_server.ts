// A secret store in this process: the HTTP API of Vault and OpenBao with tokens that expire, AppRoles, policies, and faults on demand.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Outcome, TransitEngine } from './transit_engine.ts'

/** The fault of every call: an error of the server, no answer, a cut connection, a redirect, or invalid JSON. */
export type Fault = 'sealed' | 'internal' | 'silent' | 'cut' | 'html' | { redirect: string }

interface Token {
  /** Epoch seconds; Infinity for a root token. */
  expiresAt: number
  renewable: boolean
  /** Paths below /v1 that it may call. */
  allowed: readonly RegExp[]
}
export interface TransitServer {
  readonly address: string
  readonly engine: TransitEngine
  readonly role: { role_id: string; secret_id: string; mount: string }
  /** METHOD and path of every call. */
  readonly calls: string[]
  /** Tokens by their text; the root token is `root`. */
  readonly tokens: Map<string, Token>
  fault: Fault | undefined
  /** The lifetime in seconds of a token of the AppRole, and its maximum with renewals. */
  lease: { seconds: number; max: number; renewable: boolean }
  /** The policy of tokens of the AppRole. */
  allowed: readonly RegExp[]
  /** The number of calls of this kind. */
  count(call: string): number
  close(): Promise<void>
}
interface Options {
  /** Epoch seconds, for leases and versions. */
  now?: () => number
  /** The port to listen on. Default: any free port. */
  port?: number
}

const SELF = [/^auth\/token\/(lookup|renew)-self$/]
export const ROOT = 'root'
const ALL = [/./]

/** Starts a secret store on loopback, with the engine at `transit` and an AppRole method at `approle`. */
export async function startTransit({
  now = () => Math.floor(Date.now() / 1000),
  port = 0,
}: Options = {}): Promise<TransitServer> {
  const engine = new TransitEngine(now)
  const sockets = new Set<Socket>()
  const born = new Map<string, number>()
  const server = createServer((request, response) => void serve(request, response))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))

  const store: TransitServer = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    engine,
    role: { role_id: 'role-1', secret_id: 'secret-of-role-1', mount: 'approle' },
    calls: [],
    tokens: new Map([[ROOT, { expiresAt: Number.POSITIVE_INFINITY, renewable: false, allowed: ALL }]]),
    fault: undefined,
    lease: { seconds: 1200, max: 1e9, renewable: true },
    allowed: ALL,
    count: (call) => store.calls.filter((each) => each === call).length,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    const path = (request.url ?? '').replace(/^\/v1\//, '')
    store.calls.push(`${request.method} ${path}`)
    if (store.fault) return fail(store.fault, request, response)
    const body = text ? (JSON.parse(text) as Record<string, unknown>) : {}
    const { status, ...answer } = answerTo(request, path, body)
    send(response, status, { request_id: 'r', lease_id: '', renewable: false, lease_duration: 0, ...answer })
  }

  function answerTo(
    request: IncomingMessage,
    path: string,
    body: Record<string, unknown>,
  ): Outcome & { auth?: object } {
    if (path === `auth/${store.role.mount}/login`) return logIn(body)
    const token = String(request.headers['x-vault-token'] ?? '')
    const held = store.tokens.get(token)
    const may = held && held.expiresAt > now() && [...SELF, ...held.allowed].some((each) => each.test(path))
    if (!may) return { status: 403, errors: ['permission denied'] }
    if (path === 'auth/token/lookup-self') return lookUp(held)
    if (path === 'auth/token/renew-self') return renew(token, held)
    if (path.startsWith('transit/')) return engine.handle(request.method ?? '', path.slice('transit/'.length), body)
    return { status: 404, errors: ['no handler for route'] }
  }

  function logIn({ role_id, secret_id }: Record<string, unknown>): Outcome & { auth?: object } {
    if (role_id !== store.role.role_id || secret_id !== store.role.secret_id)
      return { status: 400, errors: ['invalid role or secret ID'] }
    const token = `hvs.${store.tokens.size}.${Math.random().toString(36).slice(2)}`
    const { seconds, renewable } = store.lease
    born.set(token, now())
    store.tokens.set(token, { expiresAt: now() + seconds, renewable, allowed: store.allowed })
    return { status: 200, auth: { client_token: token, lease_duration: seconds, renewable } }
  }

  const lookUp = ({ expiresAt, renewable }: Token): Outcome => {
    const ttl = Number.isFinite(expiresAt) ? expiresAt - now() : 0
    return { status: 200, data: { ttl, renewable, id: 'hidden' } }
  }

  function renew(token: string, held: Token): Outcome & { auth?: object } {
    if (!held.renewable) return { status: 400, errors: ['lease is not renewable'] }
    const latest = (born.get(token) ?? now()) + store.lease.max
    held.expiresAt = Math.min(now() + store.lease.seconds, latest)
    return { status: 200, auth: { client_token: token, lease_duration: held.expiresAt - now(), renewable: true } }
  }

  return store
}

function fail(fault: Fault, request: IncomingMessage, response: ServerResponse): void {
  if (fault === 'cut') request.socket.destroy()
  else if (fault === 'sealed') send(response, 503, { errors: ['Vault is sealed'] })
  else if (fault === 'internal') send(response, 500, { errors: ['internal error'] })
  else if (fault === 'html') response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>hello</h1>')
  else if (fault !== 'silent')
    response.writeHead(307, { location: fault.redirect + (request.url ?? ''), 'content-length': '0' }).end()
}

const send = (response: ServerResponse, status: number, body: object) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
