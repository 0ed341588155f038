// An MCP server that is protected by the service. It names the service in its metadata, verifies tokens and checks their scopes.
// The variables PORT, ISSUER and RESOURCE configure it. docs/guides/mcp-server.md explains it.
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createVerifier } from '@service/resource-server'
import { requireToken, resourceMetadata } from '@service/resource-server/express'
import { z } from 'zod'

const { PORT = '3000', ISSUER = 'http://localhost:9000', RESOURCE = `http://localhost:${PORT}/mcp` } = process.env
const { pathname } = new URL(RESOURCE)

// 1. The verification of tokens: issuer, audience, type, signature, time, and the proof of a token that is bound to a key. The keys are
// fetched once, and again when a token names an unknown key, so that a rotation causes no errors.
const scopesSupported = ['notes:read', 'notes:write']
const verifier = createVerifier({ issuer: ISSUER, resource: RESOURCE, scopesSupported })

// 2. The resource metadata: where clients get tokens (RFC 9728). The service serves the same document for this resource.
const app = createMcpExpressApp()
app.get(new URL(verifier.resourceMetadataUrl).pathname, resourceMetadata(verifier))

// 3. Authorization. Without a token the 401 response names the metadata. If the token lacks the scope of a tool, the 403 response
// names the scope. The 401 names no scope: a client then requests all of `scopes_supported`, and the user decides.
// The SDK still takes lists of requests, which MCP has abolished. They would hide calls from what follows.
app.post(pathname, (request, response, next) =>
  Array.isArray(request.body) ? response.status(400).json({ error: 'invalid_request' }) : next(),
)
const guards = {
  list_notes: requireToken(verifier, { scopes: ['notes:read'] }),
  save_note: requireToken(verifier, { scopes: ['notes:write'] }),
}
app.post(pathname, (request, response, next) => {
  const { method, params } = request.body ?? {}
  const needsScope = method === 'tools/call' && Object.hasOwn(guards, params?.name)
  return (needsScope ? guards[params.name] : requireToken(verifier))(request, response, next)
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
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, async () => {
    server.close()
    await verifier.close()
  })
