// The two generations of the official MCP client behind one interface, and the data that such a client stores between its requests.
import * as v2 from '@modelcontextprotocol/client'
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect } from 'vitest'
import type { Client as Registered } from '../../src/records/client.ts'
import type { User } from '../../src/records/user.ts'
import { Browser } from '../support/browser.ts'
import { walk } from '../support/flow.ts'
import { REDIRECT_URI, type TestService } from '../support/service.ts'

/** A connection to an MCP server that may have to be authorized first. */
export interface Connection {
  open(): Promise<void>
  /** Takes the authorization response. */
  finish(callback: URL): Promise<void>
  /** The names of the tools of the server. */
  list(): Promise<string[]>
  /** Calls a tool of the server. Returns the text that it answers. */
  call(tool: string): Promise<string>
  close(): Promise<void>
}
type Credentials = { clientId: string; clientSecret: string; scope: string; expectedIssuer: string }

export interface Generation {
  name: string
  connect(uri: string, provider: Provider): Connection
  /** A connection of a machine with the client_credentials grant. */
  connectMachine(uri: string, credentials: Credentials): Connection
  Unauthorized: new () => Error
}

const INFO = { name: 'test', version: '1.0.0' }
const textOf = (result: unknown) => String((result as { content: { text: string }[] }).content[0]?.text)

export function connectV2(uri: string, authProvider: v2.OAuthClientProvider): Connection {
  const client = new v2.Client(INFO)
  const transport = new v2.StreamableHTTPClientTransport(new URL(uri), { authProvider })
  return {
    open: () => client.connect(transport),
    finish: (callback) => transport.finishAuth(callback.searchParams),
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name) => textOf(await client.callTool({ name })),
    close: () => client.close(),
  }
}

export function connectV1(uri: string, authProvider: OAuthClientProvider): Connection {
  const client = new Client(INFO)
  const transport = new StreamableHTTPClientTransport(new URL(uri), { authProvider })
  return {
    open: () => client.connect(transport),
    finish: (callback) => transport.finishAuth(callback.searchParams.get('code') ?? ''),
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name) => textOf(await client.callTool({ name })),
    close: () => client.close(),
  }
}

export const GENERATIONS: Generation[] = [
  {
    name: '@modelcontextprotocol/client',
    connect: connectV2,
    connectMachine: (uri, credentials) => connectV2(uri, new v2.ClientCredentialsProvider(credentials)),
    Unauthorized: v2.UnauthorizedError,
  },
  {
    name: '@modelcontextprotocol/sdk',
    connect: connectV1,
    connectMachine: (uri, credentials) => connectV1(uri, new ClientCredentialsProvider(credentials)),
    Unauthorized: UnauthorizedError,
  },
]

/** Connects as a user: is refused, signs in, and is accepted. */
export async function comeIn(
  { connect, Unauthorized }: Pick<Generation, 'connect' | 'Unauthorized'>,
  service: TestService,
  uri: string,
  provider: Provider,
  user: Pick<User, 'email'>,
  browser = new Browser(),
): Promise<Connection> {
  const first = connect(uri, provider)
  await expect(first.open()).rejects.toThrow(Unauthorized)
  await first.finish(await walk(service, String(provider.saved.url), user, browser))
  const connection = connect(uri, provider)
  await connection.open()
  return connection
}

type Tokens = v2.OAuthTokens & { issuer?: string }
type Registration = v2.OAuthClientInformationMixed & { issuer?: string }

/** The stored data of a client: its registration, one sign-in, and the last URL for the browser. */
export class Provider {
  readonly redirectUrl = REDIRECT_URI
  readonly clientMetadata: v2.OAuthClientMetadata = {
    client_name: 'Test',
    redirect_uris: [REDIRECT_URI],
    grant_types: ['authorization_code', 'refresh_token'],
  }
  readonly state = () => 'a-state'
  /** The URL of its document, if it has one. */
  clientMetadataUrl?: string
  saved: { tokens?: Tokens; verifier?: string; url?: URL; discovery?: v2.OAuthDiscoveryState } = {}
  private registration?: Registration

  /** Without a registered client it uses a document or registers itself. */
  constructor(client?: Pick<Registered, 'client_id'> & { client_secret?: string }, issuer?: string) {
    if (!client) return
    const { client_id, client_secret } = client
    this.registration = { client_id, issuer, ...(client_secret ? { client_secret } : {}) }
  }
  clientInformation() {
    return this.registration
  }
  saveClientInformation(registration: Registration) {
    this.registration = registration
  }
  tokens() {
    return this.saved.tokens
  }
  saveTokens(tokens: Tokens) {
    this.saved.tokens = tokens
  }
  redirectToAuthorization(url: URL) {
    this.saved.url = url
  }
  saveCodeVerifier(verifier: string) {
    this.saved.verifier = verifier
  }
  codeVerifier() {
    return this.saved.verifier ?? ''
  }
  discoveryState() {
    return this.saved.discovery
  }
  saveDiscoveryState(discovery: v2.OAuthDiscoveryState) {
    this.saved.discovery = discovery
  }
  invalidateCredentials(scope: string) {
    if (scope === 'tokens' || scope === 'all') this.saved.tokens = undefined
    if (scope === 'client' || scope === 'all') this.registration = undefined
  }
}
