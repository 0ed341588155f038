// Client authentication with a token of another issuer (federated_jwt): a Kubernetes service account, a CI job, a SPIFFE workload. The
// token may be used until it expires, because its issuer made it for a workload and not for one request.
import type { App } from '../../context.ts'
import { VERIFIED_ALGS } from '../../crypto/jws.ts'
import { MAX_LIFE, timeFaultOf } from '../../crypto/jwt_times.ts'
import { clip } from '../../lib/bounded.ts'
import type { OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { isHttpUrl } from '../../lib/url.ts'
import type { WantedKey } from '../../net/jwks.ts'
import type { Client, FederatedCredential } from '../../records/client.ts'
import type { Jwk } from '../../records/jwk.ts'
import {
  type AssertionCandidate,
  type AssertionKind,
  JWT_BEARER_ASSERTION,
  refuseClient,
  type SentAssertion,
} from './assertion_kind.ts'
import { acceptsMethod } from './client_metadata.ts'
import { DEMANDS, isTrustDomain, type TokenClaims, trustDomainOf, unmetDemand } from './federated_credential.ts'
import { resolveClient } from './find_client.ts'

/** The client_assertion_type of JWT-SVIDs (draft-ietf-oauth-spiffe-client-auth). */
const JWT_SPIFFE = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe'

const METHOD = 'federated_jwt'
const MAX_SHOWN = 256

export const federatedJwt: AssertionKind = {
  method: METHOD,
  algs: VERIFIED_ALGS,
  // The iss of a client's own assertion is its client_id, as sub is.
  matches({ type, jws }) {
    const { iss, sub } = jws.payload
    if (type === JWT_SPIFFE) return true
    if (type !== JWT_BEARER_ASSERTION || typeof sub !== 'string') return false
    return typeof iss === 'string' ? isHttpUrl(iss) && iss !== sub : trustDomainOf(sub) !== undefined
  },
  async find(app, sent) {
    const { payload } = sent.jws
    checkTime(payload, app.clock.now())
    if (sent.type === JWT_SPIFFE && trustDomainOf(String(payload['sub'])) === undefined)
      throw refuseClient('assertion_spiffe_id', 'sub of the assertion must be a SPIFFE ID')
    return onlyMatch(app, await findCandidates(app, sent), payload)
  },
}

function checkTime(claims: TokenClaims, now: number): void {
  const found = timeFaultOf(claims, { now, life: MAX_LIFE })
  if (found?.fault === 'expired') throw refuseClient('assertion_expired', 'the assertion has expired')
  if (found?.claim === 'exp') throw refuseClient('assertion_exp', 'exp of the assertion is missing or too late')
  if (found) throw refuseClient(`assertion_${found.claim}`, `${found.claim} of the assertion is in the future`)
}

/** The client of the client_id parameter, or else every client with a credential for this issuer and subject. An index finds them. */
async function findCandidates(app: App, { client_id, jws }: SentAssertion): Promise<Client[]> {
  if (client_id !== undefined) {
    const client = await resolveClient(app, client_id)
    if (!client) throw refuseClient('unknown_client')
    if (!acceptsMethod(client, METHOD)) throw refuseClient('method_not_registered')
    return [client]
  }
  const { iss, sub } = jws.payload
  if (typeof sub !== 'string') return []
  const issuers = [iss, trustDomainOf(sub)].filter((each) => typeof each === 'string')
  const ids = (await app.store.findFederatedClients({ issuers, subject: sub })) ?? []
  const found = await Promise.all(ids.map((id) => resolveClient(app, id)))
  return found.filter((client) => client !== undefined)
}

/**
 * The only active client that the token matches, or else a suspended client, which is refused later. The response never says what did
 * not match, because nothing is verified yet. The log says it.
 */
function onlyMatch(app: App, candidates: readonly Client[], claims: TokenClaims): AssertionCandidate {
  const matches = candidates.flatMap((client) => {
    const credentials = credentialsOf(client).filter((each) => unmetDemand(app.config, each, claims) === undefined)
    return credentials.length > 0 ? [{ client, credentials }] : []
  })
  const active = matches.filter(({ client }) => client.status === 'active')
  const [match] = active.length > 0 ? active : matches
  if (!match) throw refuseToken(nearestDemand(app, candidates, claims), candidates, claims)
  if (active.length > 1) throw refuseToken('assertion_several_clients', candidates, claims)
  const { client, credentials } = match
  return {
    client,
    findKeys: async (query) => (await Promise.all(credentials.map((each) => keysOf(app, each, query)))).flat(),
  }
}

const credentialsOf = ({ federated_credentials = [] }: Client): FederatedCredential[] => federated_credentials

/** The reason of the refusal: the requirement that the credential with the best match does not meet. */
function nearestDemand({ config }: App, candidates: readonly Client[], claims: TokenClaims) {
  const unmet = candidates.flatMap(credentialsOf).map((each) => unmetDemand(config, each, claims))
  return DEMANDS.findLast((demand) => unmet.includes(demand)) ?? 'assertion_subject'
}

/** The refusal of a token. The audit trail gets its issuer, its subject, and the client if there is only one candidate. */
const refuseToken = (reason: Reason, [client, another]: readonly Client[], { iss, sub }: TokenClaims): OAuthError =>
  refuseClient(reason, undefined, {
    ...(client && !another ? { client_id: client.client_id } : {}),
    issuer: clip(String(iss), MAX_SHOWN),
    subject: clip(String(sub), MAX_SHOWN),
  })

async function keysOf(app: App, { issuer, jwks_uri }: FederatedCredential, query: WantedKey): Promise<readonly Jwk[]> {
  const uri = jwks_uri ?? (await app.issuerMetadata.jwksUri(issuer))
  return app.remoteKeys.find(uri, isTrustDomain(issuer) ? { ...query, use: 'jwt-svid' } : query)
}
