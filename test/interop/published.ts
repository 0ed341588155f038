// The requests of clients that cannot be installed from a registry, as their vendors or their bug trackers publish them.

export interface Published {
  client: string
  /** When its requests were read. */
  version: string
  /** Its registration (RFC 7591). */
  registration: Record<string, unknown>
  /** Its redirect URI. */
  redirect_uri: string
  /** The `scope` of its authorization request; undefined when it sends none. */
  scope?: string
}

const CODE = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback'
const COPILOT = 'https://global.consent.azure-apim.net/redirect/notes-20mcp-5fe1c2'
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

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
