// The requests of clients that cannot be installed from a registry, as their vendors or their bug trackers publish them.

export interface Published {
  client: string
  /** When its requests were read. */
  version: string
  /** Its registration (RFC 7591). */
  registration?: Record<string, unknown>
  /** Its redirect URI. */
  redirect_uri: string
  /** Its client metadata document (CIMD), and the redirect URI that it uses with it. */
  document?: ClientDocument
  redirect_of_document?: string
  /** The `scope` of its authorization request; undefined when it sends none. */
  scope?: string
}

const CODE = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback'
const COPILOT = 'https://global.consent.azure-apim.net/redirect/notes-20mcp-5fe1c2'
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

export interface ClientDocument {
  client_id: string
  client_name: string
}
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const PUBLIC_CODE = { ...CODE, token_endpoint_auth_method: 'none' }

/** The client metadata documents of vendors, from public copies of the autumn of 2026. */
export const DOCUMENTS = {
  claudeCode: {
    client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
    client_name: 'Claude Code',
    client_uri: 'https://claude.ai',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    ...PUBLIC_CODE,
  },
  vsCode: {
    client_id: 'https://vscode.dev/oauth/client-metadata.json',
    client_name: 'Visual Studio Code',
    client_uri: 'https://vscode.dev/product',
    logo_uri: 'https://code.visualstudio.com/assets/branding/code-stable.png',
    redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
    ...PUBLIC_CODE,
    grant_types: ['authorization_code', 'refresh_token', DEVICE],
    application_type: 'native',
  },
  claudeAi: {
    client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    client_name: 'Claude',
    client_uri: 'https://claude.ai',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
    ...PUBLIC_CODE,
    grant_types: ['authorization_code', 'refresh_token', JWT_BEARER],
  },
  codex: {
    client_id: 'https://chatgpt.com/oauth/codex/client.json',
    client_name: 'Codex',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    ...PUBLIC_CODE,
  },
  chatGpt: {
    client_id: 'https://chatgpt.com/oauth/client.json',
    client_name: 'ChatGPT',
    client_uri: 'https://chatgpt.com/',
    redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
    ...CODE,
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    token_endpoint_auth_signing_alg: 'RS256',
    jwks_uri: 'https://chatgpt.com/oauth/jwks.json',
  },
} as const satisfies Record<string, ClientDocument & Record<string, unknown>>

export const PUBLISHED: readonly Published[] = [
  {
    client: 'ChatGPT',
    version: '2026-08',
    registration: {
      client_name: 'ChatGPT',
      redirect_uris: ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'],
      ...CODE,
      token_endpoint_auth_method: 'none',
    },
    redirect_uri: 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct',
    document: DOCUMENTS.chatGpt,
    redirect_of_document: 'https://chatgpt.com/connector_platform_oauth_redirect',
    scope: '',
  },
  {
    client: 'Claude (claude.ai)',
    version: '2026-08',
    registration: {
      client_name: 'Claude',
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      ...CODE,
      token_endpoint_auth_method: 'none',
    },
    redirect_uri: 'https://claude.ai/api/mcp/auth_callback',
    document: DOCUMENTS.claudeAi,
    scope: ' mcp:read mcp:write',
  },
  {
    client: 'Claude Code',
    version: '2.1',
    registration: {
      client_name: 'Claude Code (notes)',
      redirect_uris: ['http://localhost:3118/callback'],
      ...CODE,
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    redirect_uri: 'http://localhost:3118/callback',
    document: DOCUMENTS.claudeCode,
    redirect_of_document: 'http://localhost:51004/callback',
  },
  {
    client: 'Codex',
    version: '0.153',
    redirect_uri: 'http://127.0.0.1:52719/callback',
    document: DOCUMENTS.codex,
    scope: 'mcp:read mcp:write',
  },
  {
    client: 'Cursor',
    version: '3.14',
    registration: {
      client_name: 'Cursor',
      redirect_uris: [CURSOR, 'https://www.cursor.com/agents/mcp/oauth/callback', 'http://localhost:8787/callback'],
      ...CODE,
      token_endpoint_auth_method: 'none',
    },
    redirect_uri: CURSOR,
    scope: 'mcp:read mcp:write',
  },
  {
    client: 'VS Code',
    version: '1.106',
    registration: {
      client_name: 'Visual Studio Code',
      client_uri: 'https://code.visualstudio.com',
      redirect_uris: [
        'https://insiders.vscode.dev/redirect',
        'https://vscode.dev/redirect',
        'http://localhost/',
        'http://127.0.0.1/',
        'http://localhost:33418/',
        'http://127.0.0.1:33418/',
      ],
      grant_types: ['authorization_code', 'refresh_token', DEVICE],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    redirect_uri: 'http://127.0.0.1:33418/',
    document: DOCUMENTS.vsCode,
    scope: 'mcp:read mcp:write',
  },
  {
    client: 'Copilot Studio',
    version: '2026-09',
    registration: { client_name: 'Notes', redirect_uris: [COPILOT] },
    redirect_uri: COPILOT,
  },
  {
    client: 'Warp',
    version: '2026-07',
    registration: {
      client_name: 'Warp',
      redirect_uris: ['warp://mcp/oauth2callback'],
      ...CODE,
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    redirect_uri: 'warp://mcp/oauth2callback',
    scope: 'mcp:read mcp:write',
  },
]
