// An MCP server that is protected by the service. It names the service in its metadata, verifies tokens and checks their scopes.
// The variables PORT, ISSUER and RESOURCE configure it. docs/guides/mcp-server.md explains it.
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js'
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'
import { z } from 'zod'

const { PORT = '3000', ISSUER = 'http://localhost:9000', RESOURCE = `http://localhost:${PORT}/mcp` } = process.env
const { origin, pathname } = new URL(RESOURCE)
const METADATA_PATH = `/.well-known/oauth-protected-resource${pathname}`

// 1. The resource metadata: where clients get tokens (RFC 9728). The service serves the same document for this resource.
const app = createMcpExpressApp()
app.get(METADATA_PATH, (_request, response) =>
  response.set('access-control-allow-origin', '*').json({
    resource: RESOURCE,
    authorization_servers: [ISSUER],
    scopes_supported: ['notes:read', 'notes:write'],
    bearer_methods_supported: ['header'],
  }),
)

// 2. The verification of a token (RFC 9068 §4): issuer, audience, type, signature, time. The keys are fetched once, and
// again when a token names an unknown key, so that a rotation causes no errors.
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`))
const verifier = {
  async verifyAccessToken(token) {
    const { payload } = await jwtVerify(token, keys, {
      issuer: ISSUER,
      audience: RESOURCE,
      typ: 'at+jwt',
      algorithms: ['ES256', 'RS256'],
      clockTolerance: 5,
    }).catch((error) => {
      // Any other error, such as keys that cannot be fetched, is not the fault of the client.
      const isRefused = error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout)
      throw isRefused ? new InvalidTokenError('the token is not valid for this server') : error
    })
    // A token that is bound to a key (RFC 9449 §7.1) is not valid without a proof, and this server does not support proofs.
    if (payload.cnf) throw new InvalidTokenError('the token needs a DPoP proof')
    return {
      token,
      clientId: String(payload['client_id']),
      scopes: String(payload['scope'] ?? '').split(' '),
      expiresAt: payload.exp,
      resource: new URL(RESOURCE),
      extra: { sub: payload.sub, act: payload['act'] },
    }
  },
}

// 3. Authorization. Without a token the 401 response names the metadata. If the token lacks the scope of a tool, the 403 response
// names the scope. The 401 names no scope: a client then requests all of `scopes_supported`, and the user decides.
const resourceMetadataUrl = origin + METADATA_PATH
const signedIn = requireBearerAuth({ verifier, resourceMetadataUrl })
const needs = (scope) => requireBearerAuth({ verifier, resourceMetadataUrl, requiredScopes: [scope] })
const guards = { list_notes: needs('notes:read'), save_note: needs('notes:write') }

app.post(pathname, signedIn, (request, response, next) => {
  const { method, params } = request.body
  const guard = method === 'tools/call' && Object.hasOwn(guards, params?.name) ? guards[params.name] : undefined
  return guard ? guard(request, response, next) : next()
})

// 4. The tools. Notes belong to the `sub` of the token, regardless of the client that sent it.
const notes = new Map()

function createTools() {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  const text = (said) => ({ content: [{ type: 'text', text: said }] })
  server.registerTool('list_notes', { description: 'Lists your notes.' }, ({ authInfo }) => {
    const own = notes.get(String(authInfo?.extra?.['sub'])) ?? []
    return text(own.length === 0 ? 'no notes' : own.join('\n'))
  })
  const save = { description: 'Saves a note.', inputSchema: { text: z.string().max(1000) } }
  server.registerTool('save_note', save, ({ text: note }, { authInfo }) => {
    const sub = String(authInfo?.extra?.['sub'])
    notes.set(sub, [...(notes.get(sub) ?? []), note])
    return text('saved')
  })
  return server
}

app.post(pathname, async (request, response) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true })
  response.on('close', () => void transport.close())
  await createTools().connect(transport)
  await transport.handleRequest(request, response, request.body)
})
app.all(pathname, (_request, response) => response.set('allow', 'POST').status(405).end())
app.get('/health', (_request, response) => response.json({ status: 'ok' }))

const server = app.listen(Number(PORT), 'localhost', () =>
  console.log(`MCP server at ${RESOURCE}, tokens of ${ISSUER}`),
)
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => server.close())
