// Client authentication of a request for a grant: as everywhere, and by an assertion that is the grant itself (RFC 7523 §2.1).
import type { Config } from '../../config/schema.ts'
import type { App } from '../../context.ts'
import { decodeJws, mediaType } from '../../crypto/jws.ts'
import type { Params, Request } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Client } from '../../records/client.ts'
import { verifyAssertion } from '../federation/id_jag.ts'
import { checkNamed } from '../federation/xaa_policy.ts'
import { type AuthenticatedClient, JWT_BEARER_ASSERTION, JWT_BEARER_GRANT, refuseClient } from './assertion_kind.ts'
import { isUrlShaped } from './cimd.ts'
import { type AssertionCredentials, MAX_ASSERTION, verifyClientAssertion } from './client_assertion.ts'
import { authenticate, type ClientKind, noteClient, type SentCredentials } from './client_auth.ts'
import { isPublic } from './client_metadata.ts'
import { type Asker, askerOf } from './client_standing.ts'
import { resolveClient } from './find_client.ts'

/** What a token request asks for, as far as it concerns the authentication of the client. */
interface WantedGrant {
  /** Its grant_type. */
  readonly type: string
  readonly clients: ClientKind
}

/**
 * Authenticates the client of a request for a grant: the use of an assertion is committed with the token, and not before. The grant is the one that the
 * endpoint serves, and no parameter of another endpoint.
 */
export async function authenticateForToken(
  app: App,
  request: Request,
  form: Params,
  { type, clients }: WantedGrant,
): Promise<AuthenticatedClient> {
  // Only for such an assertion does the token endpoint serve another grant than the form names (isOwnAssertion).
  if (type === 'client_credentials' && form.grant_type === JWT_BEARER_GRANT)
    return authenticateByGrant(app, request, form)
  const assertion = type === JWT_BEARER_GRANT ? form.assertion : undefined
  const authenticated = await authenticate(app, request, form, (sent) => askerFor(app, request, assertion, sent))
  const { client } = authenticated
  if (clients === 'confidential' && isPublic(client)) checkPublic(app.config, type, client)
  return authenticated
}

/**
 * Whether a token request has an assertion as its grant and nothing else that names a client (RFC 7523 §2.1): the token of a workload, or
 * an assertion that a client signed. The assertion of an identity provider (ID-JAG) is about a user, and needs a client beside it.
 */
export function isOwnAssertion({ headers }: Pick<Request, 'headers'>, form: Params): boolean {
  const { grant_type, assertion, client_id, client_secret, client_assertion, client_assertion_type } = form
  if (grant_type !== JWT_BEARER_GRANT || assertion === undefined || headers.authorization !== undefined) return false
  if ([client_id, client_secret, client_assertion, client_assertion_type].some((each) => each !== undefined))
    return false
  const jws = decodeJws(assertion, MAX_ASSERTION)
  return jws !== undefined && mediaType(String(jws.header.typ)) !== 'oauth-id-jag+jwt'
}

/** The client that the assertion of the request names. A fault of a grant is invalid_grant (RFC 7521 §4.1.1). */
async function authenticateByGrant(
  app: App,
  request: Request,
  { assertion = '' }: Params,
): Promise<AuthenticatedClient> {
  const credentials = { client_assertion: assertion, client_assertion_type: JWT_BEARER_ASSERTION }
  try {
    const authenticated = await verifyClientAssertion(app, request, credentials)
    noteClient(request, authenticated.client)
    return authenticated
  } catch (error) {
    if (!(error instanceof OAuthError) || error.code !== 'invalid_client') throw error
    const isUnknown = error.reason === 'assertion_subject' || error.reason === 'unknown_client'
    const reason = isUnknown ? 'no_federated_credential' : error.reason
    const description = isUnknown ? 'no client has a federated credential or a key for this assertion' : error.message
    throw new OAuthError('invalid_grant', description, { ...error.more, status: undefined, reason })
  }
}

/**
 * The sender of a request. The document of a client that is not stored is fetched for an assertion only if the assertion is valid, for this client,
 * and a policy of an operator names the client. Throws what is wrong with the assertion, or access_denied.
 */
async function askerFor(
  app: App,
  request: Request,
  assertion: string | undefined,
  credentials: SentCredentials,
): Promise<Asker> {
  const asker = askerOf(request)
  if (assertion === undefined || !app.config.xaa.enabled) return asker
  const client_id = credentials.client_id ?? ('client_assertion' in credentials ? signerOf(credentials) : undefined)
  if (client_id === undefined || !isUrlShaped(client_id) || (await resolveClient(app, client_id))) return asker
  await checkNamed(app, await verifyAssertion(app, assertion, { client_id }), client_id)
  return { ...asker, isVouched: true }
}

/** The client that an assertion says has signed it. */
function signerOf({ client_assertion }: AssertionCredentials): string | undefined {
  const { iss } = decodeJws(client_assertion, MAX_ASSERTION)?.payload ?? {}
  return typeof iss === 'string' ? iss : undefined
}

/**
 * Refuses a public client for a grant that needs a confidential one. A client with a document may redeem assertions if
 * xaa.allow_public_clients is true. Throws invalid_client.
 */
export function checkPublic({ xaa }: Config, grant_type: string, { registration_source }: Client): void {
  if (grant_type !== JWT_BEARER_GRANT || registration_source !== 'cimd') throw refuseClient('public_client')
  if (!xaa.allow_public_clients)
    throw refuseClient(
      'public_client_not_allowed',
      'a client that does not authenticate may not redeem assertions (xaa.allow_public_clients)',
      { key: 'xaa.allow_public_clients' },
    )
}
