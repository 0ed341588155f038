// Registration requests of MCP clients, from their published requests, and the resulting registrations.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { authorize, redeem, refresh, register } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

type Members = Record<string, unknown>
const BOTH = ['authorization_code', 'refresh_token']
/** The registration of most clients. */
const PUBLIC = { grant_types: BOTH, response_types: ['code'], token_endpoint_auth_method: 'none' }
const SECRET = { ...PUBLIC, token_endpoint_auth_method: 'client_secret_basic' }
const CURSOR = [
  'cursor://anysphere.cursor-mcp/oauth/callback',
  'https://www.cursor.com/agents/mcp/oauth/callback',
  'http://localhost:8787/callback',
]
const LOCAL = 'http://localhost:3118/callback'

/** The client, the request body, and the members of the registration that differ from the body. */
const CLIENTS: readonly [client: string, body: Members, registered: Members][] = [
  [
    'ChatGPT',
    {
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
      grant_types: BOTH,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: null,
      logo_uri: null,
    },
    PUBLIC,
  ],
  [
    'claude.ai',
    {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      grant_types: BOTH,
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
      scope: ' mcp:read mcp:write',
    },
    { ...PUBLIC, token_endpoint_auth_method: 'client_secret_post', scope: 'mcp:read mcp:write' },
  ],
  [
    'Claude Code',
    {
      client_name: 'Claude Code (server)',
      redirect_uris: [LOCAL],
      grant_types: BOTH,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    PUBLIC,
  ],
  [
    'Cursor',
    {
      client_name: 'Cursor',
      redirect_uris: CURSOR,
      grant_types: BOTH,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'web',
    },
    { ...PUBLIC, application_type: 'web' },
  ],
  [
    'Warp',
    {
      client_name: 'Warp',
      redirect_uris: ['warp://mcp/oauth2callback'],
      grant_types: BOTH,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    PUBLIC,
  ],
  [
    'VS Code',
    {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: ['https://insiders.vscode.dev/redirect', 'https://vscode.dev/redirect', 'http://127.0.0.1/'],
      grant_types: [...BOTH, 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      scope: 'mcp:read',
    },
    { ...PUBLIC, scope: 'mcp:read' },
  ],
  [
    'Copilot Studio, which names no method and expects a secret',
    {
      client_name: 'Copilot Studio',
      redirect_uris: ['https://global.consent.azure-apim.net/redirect/server'],
      grant_types: BOTH,
      response_types: ['code'],
    },
    SECRET,
  ],
  [
    'Goose',
    { client_name: 'goose', redirect_uris: ['goose://oauth/callback'], token_endpoint_auth_method: 'none' },
    PUBLIC,
  ],
  ['Zed', { client_name: 'Zed', redirect_uris: ['zed://oauth/callback'], token_endpoint_auth_method: 'none' }, PUBLIC],
  [
    'Windsurf',
    { client_name: 'Windsurf', redirect_uris: ['windsurf://oauth/callback'], token_endpoint_auth_method: 'none' },
    PUBLIC,
  ],
  [
    'Python (mcp) without client_name',
    {
      redirect_uris: ['http://localhost:3030/callback'],
      token_endpoint_auth_method: 'none',
      grant_types: BOTH,
      response_types: ['code'],
      scope: null,
      client_name: null,
      client_uri: '',
      contacts: null,
      jwks: null,
      jwks_uri: '',
    },
    { ...PUBLIC, client_name: 'localhost' },
  ],
  [
    'a client with a home page and a blank name',
    { client_name: ' ', client_uri: 'https://desk.example.org/about', redirect_uris: CURSOR, ...PUBLIC },
    { ...PUBLIC, client_name: 'desk.example.org' },
  ],
  [
    'a program with a scheme of its own and no name',
    { redirect_uris: ['com.example.desk:/oauth/callback'], token_endpoint_auth_method: 'none' },
    { ...PUBLIC, client_name: 'com.example.desk' },
  ],
  [
    'a client with implicit beside code, and response_types code and token',
    {
      client_name: 'Old web app',
      redirect_uris: ['https://web.example.org/callback'],
      grant_types: ['implicit', ...BOTH],
      response_types: ['code', 'token'],
      token_endpoint_auth_method: 'none',
    },
    PUBLIC,
  ],
  [
    'a client without grant types',
    { client_name: 'Small', redirect_uris: [LOCAL], token_endpoint_auth_method: 'none' },
    PUBLIC,
  ],
  ['a client with redirect URIs only', { redirect_uris: [LOCAL] }, { ...SECRET, client_name: 'localhost' }],
]

let service: TestService
let documents: DocumentServer
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService(LOCAL_DOCUMENTS)
})
afterAll(async () => {
  documents.close()
  await service.close()
})

/** Completes a sign-in and a refresh with one redirect URI. */
async function signsIn(client: { client_id: string; client_secret?: string }, redirect_uri: string): Promise<void> {
  const [user, resource] = [await addUser(service), await addResource(service)]
  const authorized = await authorize(service, client, user, { redirect_uri, resource: resource.uri })
  expect(authorized.callback.href.startsWith(redirect_uri)).toBe(true)
  const tokens = await redeem(service, client, authorized, { redirect_uri })
  expect(tokens.status, JSON.stringify(tokens.body)).toBe(200)
  expect((await refresh(service, client, tokens.body['refresh_token'])).status).toBe(200)
}

describe('the published registration of', () => {
  test.each(CLIENTS)('%s can register, and the client signs a user in', async (_client, body, expected) => {
    const response = await register(service, JSON.stringify(body))
    const answer = (await response.json()) as Members & { client_id: string; client_secret?: string }
    expect(response.status, JSON.stringify(answer)).toBe(201)
    const unnamed = body['client_name'] ? { client_name: body['client_name'] } : {}
    const shown = { redirect_uris: body['redirect_uris'], ...unnamed, ...expected }
    expect(answer).toMatchObject(shown)
    expect(await service.app.store.findClient(answer)).toMatchObject(shown)
    expect(answer.client_secret !== undefined).toBe(expected['token_endpoint_auth_method'] !== 'none')
    for (const uri of shown.redirect_uris as string[]) await signsIn(answer, uri)
  })
})

test('a client document is read leniently: null members, wrong types and unsafe redirect URIs are ignored', async () => {
  const client_id = documents.publish('/lenient', {
    redirect_uris: ['http://evil.example/cb', ...CURSOR, 'javascript:alert(1)', null],
    grant_types: [...BOTH, 'implicit'],
    response_types: ['code', 'token'],
    token_endpoint_auth_method: null,
    scope: null,
    client_secret: null,
    application_type: null,
  })
  for (const uri of CURSOR) await signsIn({ client_id }, uri)
  const stored = await service.app.store.findClient({ client_id })
  expect(stored).toMatchObject({ ...PUBLIC, redirect_uris: CURSOR, application_type: 'web' })
})

test('a public client that an operator creates may have private-use redirect URIs, and a confidential one may not', async () => {
  const client = await addClient(service, { token_endpoint_auth_method: 'none', redirect_uris: CURSOR })
  for (const uri of CURSOR) await signsIn({ client_id: client.client_id }, uri)
  await expect(addClient(service, { redirect_uris: CURSOR })).rejects.toThrow(
    'redirect_uris[0] of a private-use scheme is for public clients only',
  )
})
