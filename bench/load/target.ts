// A measured server, as the workloads see it.
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import type { ProbePlan } from '../run/probe.ts'
import type { BenchIdp, SignerKey } from './signer.ts'

/** A confidential client with client_credentials, and with authorization_code where requests are pushed. */
export interface Machine {
  client_id: string
  client_secret: string
}
/** A confidential client with client_credentials and a key of its own in place of a secret. */
export interface KeyedMachine extends SignerKey {
  client_id: string
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

/** A server with everything that the workloads need. Members for grants that it does not support are missing. */
export interface BenchTarget {
  readonly name: string
  /** Whether it is the service, and not a peer. */
  readonly isService?: true
  /** Whether it is the yardstick, which gets client_credentials requests whatever the workload is. */
  readonly isYardstick?: true
  readonly base: string
  /** Further instances, among which connections are distributed. */
  readonly otherBases?: readonly string[]
  readonly paths: {
    token: string
    introspection?: string
    revocation?: string
    par?: string
    login?: string
    metadata?: string
  }
  /** Clients in rotation, and clients that only the cold workload uses. */
  readonly machines: readonly Machine[]
  readonly coldMachines: readonly Machine[]
  /** As many as there are clients in rotation. */
  readonly keyedMachines?: readonly KeyedMachine[]
  readonly scope?: string
  readonly resource?: string
  /** Credentials and cookies of the user. */
  readonly signedIn?: {
    app: InteractiveClient
    authorizePath: string
    /** Cookies of a browser whose user is signed in and has consented. */
    cookie: string
    verifier: string
  }
  readonly user?: BenchUser
  readonly gateway?: Gateway
  /** The resource of the tokens that are introspected. */
  readonly introspectedResource?: string
  /** Connections of the load generator. Default: those of the run. */
  readonly connections?: number
  /** The processors of the load generator, as a list for taskset. Default: all. */
  readonly loadProcessors?: string
  /** What to observe to measure its resource usage. */
  probe(): ProbePlan
  /** Restarts the process: its caches are empty afterwards, its data is kept. Undefined for a server that the run did not start. */
  restart?(): Promise<void>
  stop(): Promise<void>
}

export const SCOPE = 'mcp:read mcp:write'
export const RESOURCE = 'https://mcp.example.com/mcp'
export const GATEWAY_RESOURCE = 'https://mcp.example.com/behind-the-gateway'
export const REDIRECT_URI = 'https://client.example.com/callback'
export const VERIFIER = randomBytes(32).toString('base64url')
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

/** Number of clients of a server. */
export interface BenchClients {
  /** Clients in rotation. */
  hot: number
  /** Clients of the cold workload only. */
  cold: number
}
export const HOT_CLIENTS = 100

/** Splits clients into those in rotation and those of the cold workload. */
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

/** A free port on loopback. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
