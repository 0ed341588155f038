// Client authentication (RFC 6749 §2.3): reads what a request sends as proof. Secrets and assertions are verified in files of their own.
import type { App } from '../../context.ts'
import type { Params, Request } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { Client } from '../../records/client.ts'
import { commitUse } from '../tokens/single_use.ts'
import { type AuthenticatedClient, refuseClient } from './assertion_kind.ts'
import { type AssertionCredentials, replayedAssertion, verifyClientAssertion } from './client_assertion.ts'
import { isPublic } from './client_metadata.ts'
import { type Asker, askerOf, standingOf } from './client_standing.ts'
import { type SecretCredentials, verifySecret } from './secret_auth.ts'

const invalid = (reason: Reason, description: string) => new OAuthError('invalid_request', description, { reason })
const twoWays = () => invalid('two_client_authentications', 'only one way to authenticate the client may be used')

/** Which clients an endpoint serves: confidential refuses clients that only name themselves. */
export type ClientKind = 'any' | 'confidential'

/** Authenticates the client of a form request. Throws invalid_client, or invalid_request when two methods are used at once. */
export async function authenticateClient(app: App, request: Request, form: Params, kind: ClientKind): Promise<Client> {
  const { client, use } = await authenticate(app, request, form)
  if (kind === 'confidential' && isPublic(client)) throw refuseClient('public_client')
  if (use && !(await commitUse(app, use))) throw await replayedAssertion(app, request)
  return client
}

/** What a request sends to authenticate its client. */
export type SentCredentials = SecretCredentials | AssertionCredentials

/** Authenticates the client by what the request sends. `askerFor` says on whose behalf its document may be fetched. Throws as authenticateClient. */
export async function authenticate(
  app: App,
  request: Request,
  form: Params,
  askerFor?: (credentials: SentCredentials) => Promise<Asker>,
): Promise<AuthenticatedClient> {
  const credentials = readCredentials(request.headers.authorization, form)
  request.notes.client_id = credentials.client_id
  const asker = (await askerFor?.(credentials)) ?? askerOf(request)
  const authenticated = await proofOf(app, request, credentials, asker)
  if (!isPublic(authenticated.client)) noteClient(request, authenticated.client)
  return authenticated
}

/** Notes on a request that it comes from a client of operators, which something it sent has proved. */
export function noteClient({ notes }: Request, client: Client): void {
  if (standingOf(client) === 'operator') notes.isOperatorsClient = true
}

const proofOf = async (
  app: App,
  request: Request,
  credentials: SentCredentials,
  asker: Asker,
): Promise<AuthenticatedClient> =>
  'client_assertion' in credentials
    ? verifyClientAssertion(app, request, credentials, asker)
    : { client: await verifySecret(app, credentials, asker) }

function readCredentials(authorization: string | undefined, form: Params): SecretCredentials | AssertionCredentials {
  const { client_id, client_secret, client_assertion, client_assertion_type } = form
  if (client_assertion !== undefined || client_assertion_type !== undefined) {
    if (client_assertion === undefined) throw invalid('missing_client_assertion', 'client_assertion is missing')
    if (client_assertion_type === undefined) throw invalid('missing_assertion_type', 'client_assertion_type is missing')
    if (authorization !== undefined || client_secret !== undefined) throw twoWays()
    return { client_id, client_assertion, client_assertion_type }
  }
  if (authorization === undefined) {
    if (client_id === undefined) throw refuseClient('no_credentials', 'client_id is missing')
    return { client_id, client_secret }
  }
  const basic = parseBasic(authorization)
  if (!basic) throw badHeader(authorization)
  if (client_secret !== undefined || (client_id !== undefined && client_id !== basic.client_id)) throw twoWays()
  return basic
}

/** Clients of MCP servers send the access token that they have to every URL of the server. */
const badHeader = (authorization: string): OAuthError =>
  /^(bearer|dpop)\b/i.test(authorization)
    ? refuseClient(
        'token_header',
        'the Authorization header has a Bearer or DPoP token, which does not authenticate a client',
      )
    : refuseClient('bad_authorization_header')

/** Client id and secret of a Basic header; each is form-encoded (RFC 6749 §2.3.1). Undefined for another header. */
export function parseBasic(authorization: string): SecretCredentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(authorization) ?? []
  if (!encoded) return undefined
  const pair = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  if (colon < 1) return undefined
  try {
    const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
    const client_id = decode(pair.slice(0, colon))
    const client_secret = decode(pair.slice(colon + 1))
    return { client_id, client_secret: client_secret === '' ? undefined : client_secret }
  } catch {
    return undefined
  }
}
