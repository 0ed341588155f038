// Client authentication (RFC 6749 §2.3): by Basic header or by form; a public client only names itself.
import type { App } from '../context.ts'
import type { Params, Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import type { Client } from '../records/client.ts'
import { SECRET_METHODS } from './client_metadata.ts'
import { findSecret, isLiveSecret, noteSecretUse } from './client_secret.ts'

interface Credentials {
  client_id: string
  client_secret?: string
}
const MAX_CREDENTIAL = 2048

const twoWays = () =>
  new OAuthError('invalid_request', 'only one way to authenticate the client may be used', {
    reason: 'two_client_authentications',
  })

/** Every failure that depends on a stored client has the same description: a caller must not learn which clients exist. */
const refuse = (reason: string, description = 'client authentication failed') =>
  new OAuthError('invalid_client', description, { reason })

/**
 * Authenticates the client of a form request. `kind` confidential refuses public clients.
 * Throws invalid_client, or invalid_request when two methods are used at once.
 */
export async function authenticateClient(
  app: App,
  request: Request,
  form: Params,
  kind: 'any' | 'confidential',
): Promise<Client> {
  const { client_id, client_secret } = readCredentials(request.headers.authorization, form)
  request.notes.client_id = client_id
  const client = await resolveClient(app, client_id)
  // The same work for a client that does not exist.
  const secret = client_secret === undefined ? undefined : findSecret(client, client_secret)
  if (!client) throw refuse('unknown_client')
  if (client.secrets === undefined) {
    if (client_secret !== undefined) throw refuse('secret_of_public_client')
  } else {
    if (client_secret === undefined) throw refuse('missing_secret')
    if (!secret) throw refuse('wrong_secret')
    if (!isLiveSecret(secret, app.clock.now())) throw refuse('expired_secret')
  }
  if (client.status !== 'active') throw refuse('client_suspended')
  if (kind === 'confidential' && client.secrets === undefined) throw refuse('public_client')
  if (secret) noteSecretUse(app, client, secret)
  return client
}

/** The stored client with this client_id, whatever its status. */
export const resolveClient = async (app: App, client_id: string): Promise<Client | undefined> =>
  client_id.length > MAX_CREDENTIAL ? undefined : app.store.findClient({ client_id })

function readCredentials(authorization: string | undefined, form: Params): Credentials {
  const { client_id, client_secret, client_assertion } = form
  if (client_assertion !== undefined) {
    if (authorization !== undefined || client_secret !== undefined) throw twoWays()
    throw refuse('assertion_not_offered', `client_assertion is not offered; use ${SECRET_METHODS.join(' or ')}`)
  }
  if (authorization === undefined) {
    if (client_id === undefined) throw refuse('no_credentials', 'client_id is missing')
    return { client_id, client_secret }
  }
  const basic = parseBasic(authorization)
  if (!basic) throw refuse('bad_authorization_header')
  if (client_secret !== undefined || (client_id !== undefined && client_id !== basic.client_id)) throw twoWays()
  return basic
}

/** Client id and secret of a Basic header; each is form-encoded (RFC 6749 §2.3.1). */
function parseBasic(authorization: string): Credentials | undefined {
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
