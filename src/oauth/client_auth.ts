// Client authentication (RFC 6749 §2.3): reads what a request sends as proof. Secrets and assertions are verified in files of their own.
import type { App } from '../context.ts'
import type { Params, Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import type { Client } from '../records/client.ts'
import { type AuthenticatedClient, refuseClient } from './assertion_kind.ts'
import { type AssertionCredentials, replayedAssertion, verifyClientAssertion } from './client_assertion.ts'
import { type SecretCredentials, verifySecret } from './secret_auth.ts'
import { commitUse } from './single_use.ts'

const invalid = (reason: string, description: string) => new OAuthError('invalid_request', description, { reason })
const twoWays = () => invalid('two_client_authentications', 'only one way to authenticate the client may be used')

/** Which clients an endpoint serves: confidential refuses clients that only name themselves. */
type ClientKind = 'any' | 'confidential'

/** Authenticates the client of a form request. Throws invalid_client, or invalid_request when two methods are used at once. */
export async function authenticateClient(app: App, request: Request, form: Params, kind: ClientKind): Promise<Client> {
  const { client, use } = await authenticateForToken(app, request, form, kind)
  if (use && !(await commitUse(app, use))) throw await replayedAssertion(app, request)
  return client
}

/** The same for a token request: the use of an assertion is committed with the token, and not before. */
export async function authenticateForToken(
  app: App,
  request: Request,
  form: Params,
  kind: ClientKind,
): Promise<AuthenticatedClient> {
  const credentials = readCredentials(request.headers.authorization, form)
  request.notes.client_id = credentials.client_id
  if ('client_assertion' in credentials) return verifyClientAssertion(app, request, credentials)
  const client = await verifySecret(app, credentials)
  if (kind === 'confidential' && credentials.client_secret === undefined) throw refuseClient('public_client')
  return { client }
}

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
  if (!basic) throw refuseClient('bad_authorization_header')
  if (client_secret !== undefined || (client_id !== undefined && client_id !== basic.client_id)) throw twoWays()
  return basic
}

/** Client id and secret of a Basic header; each is form-encoded (RFC 6749 §2.3.1). */
function parseBasic(authorization: string): SecretCredentials | undefined {
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
