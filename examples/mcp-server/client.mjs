// Calls an MCP server that requires a token, with the official MCP client. It discovers the authorization server, registers, lets its
// user sign in with the browser, and calls two tools. Usage: `node client.mjs [URL of the server]`
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'

const url = new URL(process.argv[2] ?? 'http://localhost:3000/mcp')

// The redirect URI: any free port of this machine (RFC 8252 §7.3).
const loopback = createServer().listen(0, '127.0.0.1')
await once(loopback, 'listening')
const redirectUrl = `http://127.0.0.1:${loopback.address().port}/callback`

// The authorization response with this state (RFC 6749 §4.1.2).
const cameBack = (state) =>
  new Promise((resolve) => {
    loopback.removeAllListeners('request').on('request', (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', redirectUrl)
      const isOurs = pathname === '/callback' && searchParams.get('state') === state
      response
        .writeHead(isOurs ? 200 : 404, { connection: 'close' })
        .end(isOurs ? 'Done. Go back to the terminal.' : '')
      if (isOurs) resolve(searchParams)
    })
  })

// The state of the client. A real client stores its registration and tokens where only its user can read them.
const kept = { state: '' }
const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: 'Example client',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  state() {
    kept.state = randomUUID()
    return kept.state
  },
  clientInformation: () => kept.client,
  saveClientInformation(client) {
    kept.client = client
  },
  tokens: () => kept.tokens,
  saveTokens(tokens) {
    kept.tokens = tokens
  },
  saveCodeVerifier(verifier) {
    kept.verifier = verifier
  },
  codeVerifier: () => kept.verifier ?? '',
  saveDiscoveryState(discovery) {
    kept.discovery = discovery
  },
  discoveryState: () => kept.discovery,
  redirectToAuthorization: (address) => console.log(`Open this address in a browser:\n${address}\n`),
}

// Calls a tool. If the server requires a token, or a scope that the token lacks, the user signs in first.
async function call(name, args = {}) {
  const client = new Client({ name: 'example', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(url, { authProvider })
  try {
    await client.connect(transport)
    const { content } = await client.callTool({ name, arguments: args })
    return content.map((part) => ('text' in part ? part.text : part.type)).join('\n')
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
    await transport.finishAuth(await cameBack(kept.state))
    return await call(name, args)
  } finally {
    await client.close()
  }
}

console.log(`list_notes: ${await call('list_notes')}`)
console.log(`save_note: ${await call('save_note', { text: 'Tea at four' })}`)
console.log(`list_notes: ${await call('list_notes')}`)
loopback.close()
