// A small real MCP server. Its tools need tokens of this issuer for its own URI, which it verifies by RFC 9068 §4.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { TestService } from '../support/service.ts'

export interface McpTestServer {
  /** The endpoint, which is the resource identifier too. */
  readonly uri: string
  close(): void
}

interface How {
  /** Its path; `/` is the root, whose resource identifier has no path. */
  path?: string
  /** Which server publishes its resource metadata: the service, or the MCP server. */
  metadata?: 'service' | 'own'
  /** Whether its challenges name scopes. */
  challenge?: boolean
  /** Whether its own metadata names scopes. */
  scopes?: boolean
}

/** Starts the server. Everything needs `mcp:read`; the tool `save` needs `mcp:write` too. */
export async function startMcpServer(
  service: Pick<TestService, 'app' | 'issuer'>,
  { path = '/mcp', metadata = 'service', challenge: challenges = true, scopes: named = true }: How = {},
): Promise<McpTestServer> {
  const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`))
  const http = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve) => http.listen(0, () => resolve()))
  const origin = `http://localhost:${(http.address() as AddressInfo).port}`
  const uri = path === '/' ? origin : origin + path
  const METADATA = `/.well-known/oauth-protected-resource${path === '/' ? '' : path}`
  const about = {
    resource: uri,
    authorization_servers: [service.issuer],
    ...(named ? { scopes_supported: ['mcp:read', 'mcp:write'] } : {}),
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const challenge = (status: number, error: string, scope: string) => {
      const at = `${metadata === 'own' ? origin : service.issuer}${METADATA}`
      const fields = `error="${error}", ${challenges ? `scope="${scope}", ` : ''}resource_metadata="${at}"`
      response.writeHead(status, { 'www-authenticate': `Bearer ${fields}` }).end()
    }
    if (metadata === 'own' && request.url === METADATA)
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(about))
    if (request.url !== path) return void response.writeHead(404).end()
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const body = JSON.parse(await text(request))
    const claims = await verify(request.headers.authorization)
    if (!claims) return challenge(401, 'invalid_token', 'mcp:read')
    // Sorted: the order has no meaning (RFC 6749 §3.3), and clients in Go request a union of scopes in random order.
    const scopes = String(claims.scope ?? '')
      .split(' ')
      .toSorted()
    if (body.params?.name === 'save' && !scopes.includes('mcp:write'))
      return challenge(403, 'insufficient_scope', 'mcp:write')

    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
    response.on('close', () => void transport.close())
    await tools(`${claims.sub} may ${scopes.join(' ') || 'do nothing in particular'}`).connect(transport)
    await transport.handleRequest(request, response, body)
  }

  async function verify(authorization = '') {
    const token = authorization.replace(/^Bearer /, '')
    const currentDate = new Date(service.app.clock.now() * 1000)
    try {
      const options = { issuer: service.issuer, audience: uri, typ: 'at+jwt', currentDate }
      return (await jwtVerify(token, keys, options)).payload
    } catch {
      return undefined
    }
  }

  return { uri, close: () => void http.close() }
}

function tools(answer: string): McpServer {
  const server = new McpServer({ name: 'test', version: '1.0.0' })
  for (const name of ['whoami', 'save'])
    server.registerTool(name, { description: `Tool ${name}` }, () => ({ content: [{ type: 'text', text: answer }] }))
  return server
}
