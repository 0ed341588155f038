// Client authentication with an assertion (RFC 7521 §4.2): the checks that all kinds have in common, in order.
import type { App } from '../../context.ts'
import { decodeJws, mediaType } from '../../crypto/jws.ts'
import { isSignedByOneOf } from '../../crypto/signers.ts'
import type { Request } from '../../http/message.ts'
import { OAuthError, unavailable } from '../../lib/error.ts'
import { FetchError, type FetchReason } from '../../net/error.ts'
import type { WantedKey } from '../../net/jwks.ts'
import { ED25519, type VerifiedAlg } from '../../records/jwk.ts'
import { audit, sentBy } from '../audit.ts'
import { PATHS } from '../metadata.ts'
import { mayAuditRefusal } from '../refusal_limit.ts'
import { useOnce } from '../tokens/single_use.ts'
import {
  type AssertionCandidate,
  type AssertionKind,
  type AuthenticatedClient,
  JWT_BEARER_ASSERTION,
  refuseClient,
  refuseSuspended,
  type SentAssertion,
} from './assertion_kind.ts'
import { acceptsMethod } from './client_metadata.ts'
import { type Asker, askerOf } from './client_standing.ts'
import { federatedJwt } from './federated_jwt.ts'
import { resolveClient } from './find_client.ts'
import { privateKeyJwt } from './private_key_jwt.ts'

/** The kinds of assertions. The first kind that matches is used. */
const KINDS: readonly AssertionKind[] = [federatedJwt, privateKeyJwt]

export interface AssertionCredentials {
  client_id?: string
  client_assertion: string
  client_assertion_type: string
}

/** Maximum length of an assertion, in characters. */
export const MAX_ASSERTION = 16_384
const MAX_KID = 1024
/** The types of tokens that must never be accepted as an assertion. Their claims can be the same. */
const OTHER_TYPES = [
  'at+jwt',
  'dpop+jwt',
  'logout+jwt',
  'oauth-authz-req+jwt',
  'oauth-id-jag+jwt',
  'secevent+jwt',
  'token-introspection+jwt',
]
/** Fetch errors that say nothing about the key set: its server is unavailable. */
const AWAY: readonly FetchReason[] = ['dns_failed', 'connect_failed', 'tls_failed', 'timeout', 'bad_response']

/** The client of an assertion, whose use the caller must commit. Throws invalid_client, which is recorded, or 503 when its keys are not available. */
export async function verifyClientAssertion(
  app: App,
  request: Request,
  credentials: AssertionCredentials,
  asker: Asker = askerOf(request),
): Promise<AuthenticatedClient> {
  try {
    return await verify(app, request, credentials, asker)
  } catch (error) {
    if (error instanceof OAuthError && error.code === 'invalid_client') await noteFailure(app, request, error)
    throw error
  }
}

/** The refusal of an assertion that another process has used before, which is recorded. */
export async function replayedAssertion(app: App, request: Request): Promise<OAuthError> {
  const refusal = refuseReplay()
  await noteFailure(app, request, refusal)
  return refusal
}

const refuseReplay = () => refuseClient('assertion_replay', 'the assertion was used before')

async function verify(
  app: App,
  request: Request,
  credentials: AssertionCredentials,
  asker: Asker,
): Promise<AuthenticatedClient> {
  const sent = readAssertion(app, request, credentials, asker)
  // Claimed, not verified: it is for the log and the trail.
  const { iss } = sent.jws.payload
  request.notes.client_id ??= typeof iss === 'string' ? iss : undefined
  const kind = KINDS.find((each) => each.matches(sent))
  if (!kind) throw refuseClient('assertion_type', `client_assertion_type is not known; use ${JWT_BEARER_ASSERTION}`)
  const query = readQuery(sent, kind.algs)
  const candidate = await kind.find(app, sent)
  const { client, once } = candidate
  request.notes.client_id = client.client_id
  if (!acceptsMethod(client, kind.method)) throw refuseClient('method_not_registered')
  const keys = await findKeys(app, candidate, query)
  if (keys.length === 0) throw await missingKey(app, candidate, query, kind.algs)
  if (!(await isSignedByOneOf(app.crypto, keys, query.alg, sent.jws))) throw refuseClient('assertion_signature')
  // After the signature: the refusal does not count against the limit of all callers, so only the client itself may cause it.
  if (client.status !== 'active') throw refuseSuspended()
  // This is the last step: a sender without the key must not be able to use up the id of an assertion.
  if (!once) return { client }
  const use = await useOnce(app, 'client_assertion', client.client_id, once.jti, once.until)
  if (!use) throw refuseReplay()
  return { client, use }
}

function readAssertion(app: App, request: Request, credentials: AssertionCredentials, asker: Asker): SentAssertion {
  const { client_id, client_assertion, client_assertion_type } = credentials
  const jws = decodeJws(client_assertion, MAX_ASSERTION)
  if (!jws) throw refuseClient('assertion_malformed', 'client_assertion is not a signed JWT')
  const { typ } = jws.header
  if (typ !== undefined && (typeof typ !== 'string' || OTHER_TYPES.includes(mediaType(typ))))
    throw refuseClient('assertion_typ', 'typ of the assertion is that of another kind of token')
  return {
    type: client_assertion_type,
    jws,
    client_id,
    endpoints: endpointsOf(request).map((path) => app.config.server.issuer + path),
    asker,
  }
}

/** Endpoints where an assertion may also be for the token endpoint (RFC 9126 §2, CIBA Core §7.1). */
const LIKE_TOKEN: readonly string[] = [PATHS.par, PATHS.bcAuthorize]
const endpointsOf = ({ path }: Request): string[] => (LIKE_TOKEN.includes(path) ? [path, PATHS.token] : [path])

/** The key that the header names. */
function readQuery({ jws }: SentAssertion, algs: readonly VerifiedAlg[]): WantedKey {
  const { alg, kid } = jws.header
  const known = algs.find((each) => each === (alg === ED25519 ? 'EdDSA' : alg))
  if (!known) throw refuseClient('assertion_alg', `alg of the assertion must be one of ${algs.join(', ')}`)
  if (kid !== undefined && (typeof kid !== 'string' || kid.length > MAX_KID))
    throw refuseClient('assertion_kid', 'kid of the assertion must be a text')
  return { alg: known, kid }
}

/** The refusal of an assertion for which there is no key. The reason says whether the named key exists and is for another algorithm. */
async function missingKey(
  app: App,
  candidate: AssertionCandidate,
  { kid }: WantedKey,
  algs: readonly VerifiedAlg[],
): Promise<OAuthError> {
  for (const alg of algs)
    if ((await findKeys(app, candidate, { kid, alg })).length > 0) return refuseClient('assertion_key_alg')
  return refuseClient('assertion_unknown_key')
}

async function findKeys({ log }: App, { client, findKeys }: AssertionCandidate, query: WantedKey) {
  try {
    return await findKeys(query)
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    const reason = `jwks_${error.reason}` as const
    if (error.key !== undefined)
      log.info(
        { client_id: client.client_id, reason, key: error.key, err: error },
        'the keys of a client are at an address that is not allowed',
      )
    if (!AWAY.includes(error.reason)) throw refuseClient(reason)
    throw unavailable('the keys of the client are not available', { reason, cause: error })
  }
}

/** Records a failed assertion of a client that exists. Every caller can cause one, so the number of records is limited. */
async function noteFailure(app: App, request: Request, { reason, more }: OAuthError): Promise<void> {
  const { client_id = request.notes.client_id, ...about } = more.about ?? {}
  request.notes.client_id = client_id
  if (Object.keys(about).length > 0) request.notes.unverified = about
  if (client_id === undefined || !(await resolveClient(app, client_id))) return
  if (!mayAuditRefusal(app, request, client_id, 'client_authentication_failed')) return
  const detail = { reason, ...about }
  // The answer does not wait for the record.
  void audit(app, {
    action: 'client_authentication_failed',
    actor_id: client_id,
    client_id,
    ...sentBy(request),
    detail,
  })
}
