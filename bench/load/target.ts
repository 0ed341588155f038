// What a work needs to know of a server that is measured.
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import type { ProbePlan } from '../run/probe.ts'
import type { BenchIdp } from './signer.ts'

/** A confidential client with client_credentials. */
export interface Machine {
  client_id: string
  client_secret: string
}
/** A public client with authorization_code and refresh_token. */
export interface InteractiveClient {
  client_id: string
  redirect_uri: string
}
/** A confidential client that exchanges tokens into a resource, and redeems assertions of an identity provider. */
export interface Gateway {
  machine: Machine
  resource: string
  idp: BenchIdp
}
export interface BenchUser {
  email: string
  password: string
}

/** A server with everything registered that a work needs; what it has no grant for is missing. */
export interface BenchTarget {
  readonly name: string
  /** Not a peer. */
  readonly isService?: true
  /** Measures the machine, not itself: it is asked for machine tokens, whatever the work is. */
  readonly isYardstick?: true
  readonly base: string
  /** Other instances of it, whose connections take turns with those of the base. */
  readonly otherBases?: readonly string[]
  readonly paths: { token: string; introspection?: string; revocation?: string; login?: string; metadata?: string }
  /** Clients of the works in rotation, and those that only the cold run uses. */
  readonly machines: readonly Machine[]
  readonly coldMachines: readonly Machine[]
  readonly scope?: string
  readonly resource?: string
  /** What a person needs who signs in at the app. */
  readonly signedIn?: {
    app: InteractiveClient
    authorizePath: string
    /** Of a browser whose user is signed in and has consented. */
    cookie: string
    verifier: string
  }
  readonly user?: BenchUser
  readonly gateway?: Gateway
  /** The resource of the tokens that are introspected. */
  readonly introspectedResource?: string
  /** Where to look for what it costs. */
  probe(): ProbePlan
  /** Starts the process anew: its caches are empty after it, its data is not. Undefined for a server of somebody else. */
  restart?(): Promise<void>
  stop(): Promise<void>
}

export const SCOPE = 'mcp:read mcp:write'
export const RESOURCE = 'https://mcp.example.com/mcp'
export const GATEWAY_RESOURCE = 'https://mcp.example.com/behind-the-gateway'
export const REDIRECT_URI = 'https://client.example.com/callback'
export const VERIFIER = randomBytes(32).toString('base64url')
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

/** How many machine clients a server has. */
export interface BenchClients {
  /** In rotation. */
  hot: number
  /** Only for the cold run. */
  cold: number
}
export const HOT_CLIENTS = 100

/** Splits clients into those that are warm and those that only the cold run uses. */
export const hotAndCold = (machines: readonly Machine[], { hot }: BenchClients) => ({
  machines: machines.slice(0, hot),
  coldMachines: machines.slice(hot),
})

/** The query of an authorization request of an app for a resource. */
export const authorizeQuery = ({ client_id, redirect_uri }: InteractiveClient, resource: string): string =>
  new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri,
    scope: SCOPE,
    resource,
    state: 'bench',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  }).toString()

/** A port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
