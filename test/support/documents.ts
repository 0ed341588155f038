// A web server of client documents, and services that may fetch from it.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { vi } from 'vitest'
import { openDocuments } from '../../src/oauth/clients/document_cache.ts'
import { Browser, type Page } from './browser.ts'
import { authorizeUrl, signIn } from './flow.ts'
import { REDIRECT_URI, type TestService } from './service.ts'

/** Environment of a service that may fetch documents from this machine. */
export const LOCAL_DOCUMENTS = {
  SERVICE_CIMD_REQUIRE_HTTPS: 'false',
  SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true',
  SERVICE_CIMD_FETCH_TIMEOUT: '1s',
  SERVICE_DCR_MODE: 'open',
}

type Members = Record<string, unknown>
interface Published {
  status?: number
  /** Default: application/json. */
  type?: string
  headers?: Record<string, string>
  /** Instead of the document. */
  body?: string | Buffer
  /** Instead of any of the above. */
  answer?: RequestListener
}

export class DocumentServer {
  /** The requested paths, in order. */
  readonly asked: string[] = []
  /** The number of connections so far. */
  connections = 0
  private readonly published = new Map<string, RequestListener>()
  private readonly sockets = new Set<Socket>()
  private readonly http = createServer((request, response) => {
    const path = request.url ?? ''
    this.asked.push(path)
    response.on('error', () => {})
    const answer = this.published.get(path)
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  })

  static async start(): Promise<DocumentServer> {
    const server = new DocumentServer()
    server.http.on('connection', (socket) => {
      server.connections++
      server.sockets.add(socket)
      socket.on('error', () => {}).once('close', () => server.sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.http.listen(0, '127.0.0.1', resolve))
    return server
  }

  get port(): number {
    return (this.http.address() as AddressInfo).port
  }
  get origin(): string {
    return `http://localhost:${this.port}`
  }

  /**
   * Puts a document at a path, with members changed, or left out when undefined. Returns its URL; `origin` when it is
   * fetched as another server's, see serveAs().
   */
  publish(path: string, changes: Members = {}, how: Published = {}, origin = this.origin): string {
    const { status = 200, type = 'application/json', headers, body, answer } = how
    const document = { client_id: origin + path, client_name: 'Desk', redirect_uris: [REDIRECT_URI], ...changes }
    const plain: RequestListener = (_, response) =>
      response.writeHead(status, { 'content-type': type, ...headers }).end(body ?? JSON.stringify(document))
    this.published.set(path, answer ?? plain)
    return origin + path
  }

  /** The number of requests for a path. */
  count(path: string): number {
    return this.asked.filter((each) => each === path).length
  }

  /** Makes a service fetch `origin` from here, as if name, address and certificate were valid, until mocks are restored. */
  serveAs(service: TestService, origin: string): void {
    for (const fetcher of Object.values(service.app.fetchers)) {
      // A mock that is given another implementation must not call itself.
      const fetchAnywhere =
        (vi.isMockFunction(fetcher.fetch) && vi.mocked(fetcher.fetch).getMockImplementation()) || fetcher.fetch
      vi.spyOn(fetcher, 'fetch').mockImplementation((url, request) =>
        url.startsWith(`${origin}/`)
          ? fetchAnywhere(this.origin + url.slice(origin.length), { ...request, allowHttp: true })
          : fetchAnywhere(url, request),
      )
    }
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy()
    this.http.close()
  }
}

/** Counts the fetches of documents and keys of clients, on behalf of any caller. */
export function spyOnFetches({ app }: TestService): { count(): number } {
  const spies = Object.values(app.fetchers).map((fetcher) => vi.spyOn(fetcher, 'fetch'))
  return { count: () => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0) }
}

/** Clears all documents and fetch limits of a service. */
export async function forgetDocuments({ app }: TestService): Promise<void> {
  await app.store.sweepBuckets({ now: Number.MAX_SAFE_INTEGER })
  Object.assign(app, { documents: openDocuments(app.store) })
}

/** A browser in which a user is signed in. */
export async function signedIn(service: TestService, user: { email: string }): Promise<Browser> {
  const browser = new Browser()
  const page = await browser.open(`${service.issuer}/login`)
  const answer = await signIn(service, browser, page, user.email)
  if (answer.status !== 303) throw new Error(`no sign-in but ${answer.status}: ${answer.text}`)
  return browser
}

/** Sends an authorization request without a browser. Returns the response. */
export const ask = (
  service: TestService,
  browser: Browser,
  fields: Record<string, string | undefined>,
): Promise<Page> => browser.open(authorizeUrl(service, fields), { headers: { accept: 'application/json' } })

/** The refusal in a direct response: status, error and description. */
export function refusalIn(page: Page): string {
  if (page.location) return `redirected to ${page.location}`
  const { error, error_description } = page.text.startsWith('{') ? JSON.parse(page.text) : { error: page.text }
  return `${page.status} ${error}: ${error_description}`
}
