// An MCP server whose tool pays only what a person has approved: the token of a call must carry exactly this payment (RFC 9396), and pays once.
// The variables PORT, ISSUER and RESOURCE configure it. docs/guides/single-actions.md explains it.
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createVerifier, Refusal } from '@service/resource-server'
import { requireToken, resourceMetadata } from '@service/resource-server/express'
import { z } from 'zod'

const { PORT = '3000', ISSUER = 'http://localhost:9000', RESOURCE = `http://localhost:${PORT}/mcp` } = process.env
const { pathname } = new URL(RESOURCE)
const verifier = createVerifier({ issuer: ISSUER, resource: RESOURCE })
const app = createMcpExpressApp()
app.get(new URL(verifier.resourceMetadataUrl).pathname, resourceMetadata(verifier))

// The SDK still takes lists of requests, which MCP has abolished. They would hide calls from what follows.
app.post(pathname, (request, response, next) =>
  Array.isArray(request.body) ? response.status(400).json({ error: 'invalid_request' }) : next(),
)

// 1. Every request needs a token for this server.
app.post(pathname, requireToken(verifier))

// 2. A call of `pay` needs a token for this payment: every member that matters is compared. The denial says what to ask for. Its number is not
// assigned yet (SEP-2643).
const DENIED = -32000
app.post(pathname, (request, response, next) => {
  const { id, method, params } = request.body ?? {}
  if (method !== 'tools/call' || params?.name !== 'pay') return next()
  const { amount, currency, creditor } = params.arguments ?? {}
  try {
    verifier.requireDetails(request.auth.extra, { type: 'payment', amount, currency, creditor })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const denial = { code: DENIED, message: error.message, data: error.draftDenial }
    return response.status(error.status).set(error.headers).json({ jsonrpc: '2.0', id, error: denial })
  }
  next()
})

// 3. A token is accepted until it expires, so the server remembers which payments were made. A real one does so in its database, where the
// same transaction makes the payment.
const paid = new Map()

function createTools() {
  const server = new McpServer({ name: 'bank', version: '1.0.0' })
  const inputSchema = { amount: z.string(), currency: z.string(), creditor: z.string() }
  server.registerTool('pay', { description: 'Pays once.', inputSchema }, ({ amount, currency, creditor }, context) => {
    const { jti, exp, sub } = context.authInfo.extra.claims
    for (const [id, until] of paid) if (until < Date.now() / 1000) paid.delete(id)
    const text = paid.has(jti) ? 'This was paid already.' : `Paid ${amount} ${currency} to ${creditor} for ${sub}.`
    paid.set(jti, exp)
    return { content: [{ type: 'text', text }] }
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

const server = app.listen(Number(PORT), 'localhost', () => console.log(`bank at ${RESOURCE}, tokens of ${ISSUER}`))
for (const signal of ['SIGTERM', 'SIGINT'])
  process.once(signal, async () => {
    server.close()
    await verifier.close()
  })
