// private_key_jwt (RFC 7523 §2.2, OpenID Connect Core §9): an assertion that the client signed with a key of its own.
import { isOwnIssuer, issuerOf } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import { CLIENT_ALGS } from '../../crypto/jws.ts'
import { CLOCK_SKEW, timeFaultOf } from '../../crypto/jwt_times.ts'
import { formatDuration } from '../../lib/time.ts'
import { fitting, type WantedKey } from '../../net/jwks.ts'
import type { Client } from '../../records/client.ts'
import type { Jwk } from '../../records/jwk.ts'
import {
  type AssertionCandidate,
  type AssertionKind,
  JWT_BEARER_ASSERTION,
  refuseClient,
  type SentAssertion,
} from './assertion_kind.ts'
import { type Asker, standingOf } from './client_standing.ts'
import { fetchTurn } from './fetch_turn.ts'
import { findClientOrDocument, followedClient } from './find_client.ts'

const MAX_JTI = 512

/** The last kind in the list. It accepts every assertion that no other kind accepts, so refusals have reasons about the claims of RFC 7523. */
export const privateKeyJwt: AssertionKind = {
  method: 'private_key_jwt',
  algs: CLIENT_ALGS,
  matches: ({ type }) => type === JWT_BEARER_ASSERTION,
  async find(app, sent) {
    const { iss, sub } = sent.jws.payload
    if (typeof iss !== 'string' || iss === '')
      throw refuseClient('assertion_iss', 'iss of the assertion must be the client_id')
    if (sub !== iss) throw refuseClient('assertion_sub', 'sub of the assertion must be the client_id, as iss')
    if (sent.client_id !== undefined && sent.client_id !== iss)
      throw refuseClient('assertion_client_id', 'client_id is not the client of the assertion')
    checkAudience(app, sent)
    const exp = checkTimes(app, sent)
    const jti = checkJti(app, sent)
    const client = await findClientOrDocument(app, iss, sent.asker)
    if (!client) throw refuseClient('unknown_client')
    const findKeys: AssertionCandidate['findKeys'] = (query) => findClientKeys(app, client, query, sent.asker)
    // After this time an assertion with the same exp would be refused as expired.
    return { client, findKeys, once: jti === undefined ? undefined : { jti, until: exp + CLOCK_SKEW.assertion + 1 } }
  },
}

async function findClientKeys(app: App, client: Client, query: WantedKey, asker: Asker): Promise<readonly Jwk[]> {
  const known = await registeredKeys(app, client, query, asker)
  if (known.length > 0 || client.registration_source !== 'cimd' || client.jwks_uri !== undefined) return known
  // The document of the client may have a new key since it was read; it is fetched when its copy is no longer fresh.
  return registeredKeys(app, await followedClient(app, client.client_id, asker), query, asker)
}

async function registeredKeys(app: App, client: Client, query: WantedKey, asker: Asker): Promise<readonly Jwk[]> {
  if (client.jwks_uri === undefined) return fitting(client.jwks?.keys ?? [], query)
  return app.clientKeys[standingOf(client)].find(client.jwks_uri, query, fetchTurn(app, client, asker))
}

/** This server or the endpoint that received the assertion: one for another endpoint authenticates another request. */
function checkAudience({ config }: App, { jws, endpoints }: SentAssertion): void {
  const { aud } = jws.payload
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud]
  const isOurs = (each: unknown) => typeof each === 'string' && (isOwnIssuer(config, each) || endpoints.includes(each))
  if (audiences.every((each) => typeof each === 'string') && audiences.some(isOurs)) return
  if (audiences.some((each) => typeof each === 'string' && each.startsWith(`${config.server.issuer}/`)))
    throw refuseClient(
      'assertion_endpoint',
      'aud of the assertion is another endpoint of this server; it must be the issuer or the URL of this endpoint',
    )
  throw refuseClient(
    'assertion_audience',
    'aud of the assertion must be the issuer of this server or the URL of this endpoint',
  ).with({
    sent: {
      parameter: 'audience',
      value: audiences.filter((each) => typeof each === 'string').join(' '),
      allowed: [issuerOf(config), ...endpoints],
    },
  })
}

/** Checks exp, iat and nbf. Returns exp. */
function checkTimes({ config, clock }: App, { jws }: SentAssertion): number {
  const life = config.oauth.assertion_max_lifetime
  const found = timeFaultOf(jws.payload, { now: clock.now(), life })
  if (!found) return Number(jws.payload['exp'])
  const { claim, fault } = found
  if (fault === 'expired') throw refuseClient('assertion_expired', 'the assertion has expired')
  if (fault === 'far')
    throw refuseClient(
      'assertion_lifetime',
      `exp of the assertion is more than ${formatDuration(life)} ahead (oauth.assertion_max_lifetime)`,
    )
  throw refuseClient(`assertion_${claim}`, `${claim} of the assertion ${FAULTS[fault]}`)
}
const FAULTS = {
  missing: 'is missing',
  no_time: 'must be a number of seconds',
  future: 'is in the future',
  old: 'is too long ago',
} as const

/** Checks jti. Returns it; undefined when there is none and none is required. */
function checkJti({ config }: App, { jws }: SentAssertion): string | undefined {
  const { jti } = jws.payload
  if (jti === undefined) {
    if (!config.oauth.assertion_require_jti) return undefined
    throw refuseClient('assertion_jti', 'jti of the assertion is missing (oauth.assertion_require_jti)')
  }
  if (typeof jti === 'string' && jti !== '' && jti.length <= MAX_JTI) return jti
  throw refuseClient('assertion_jti', `jti of the assertion must be a text of at most ${MAX_JTI} characters`)
}
