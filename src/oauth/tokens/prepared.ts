// Prepared tokens: what was decided on a request of a machine client is kept as a value, so that the next request of the same text is counted,
// limited, signed and committed without asking the rules again. The value holds as long as the client, the resources, the signing key and the
// settings are those that it was made from. Everything else, and every refusal, goes the way of all requests.
import { issuerOf } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import { isRemote, type SigningKey } from '../../crypto/pool.ts'
import type { Params, Request } from '../../http/message.ts'
import { digest } from '../../lib/id.ts'
import { JSON_TEXT } from '../../lib/json.ts'
import { Lru } from '../../lib/lru.ts'
import { MB, memoryOf } from '../../lib/memory.ts'
import type { Client, ClientSecret } from '../../records/client.ts'
import type { SingleUse } from '../../records/single_use.ts'
import type { NewIssuance } from '../../store/tokens/issuances.ts'
import { needsApproval } from '../clients/approval.ts'
import { noteClient, parseBasic } from '../clients/client_auth.ts'
import { findSecret, isLiveSecret, noteSecretUse } from '../clients/client_secret.ts'
import { claimsOf } from './access_token.ts'
import { type Authorization, newIssuance, noteIssued, type TokenResponse } from './issue.ts'

/** A decision, what it was made from, and the texts around what is new in each token. */
export interface Prepared {
  readonly authorization: Authorization
  readonly key: SigningKey
  /** The version of the resources. */
  readonly resources: number
  /** The secret that the request has sent. */
  readonly secret: ClientSecret
  /** The claims before and after `exp`, `iat` and `jti`. */
  readonly claims: readonly [string, string]
  /** The record after its id, after its times, and after its address up to the proof that it uses. */
  readonly record: readonly [string, string, string]
  /** The response after the token. */
  readonly response: string
}

/** The prepared tokens of a thread. Resources and keys are shared, so that they do not count; a client may stay here longer than in its cache. */
export const openPrepared = (): App['prepared'] =>
  new Lru<Prepared>({
    max: 10_000,
    bytes: 16 * MB,
    sizeOf: ({ authorization, claims, record, response }) =>
      512 + memoryOf(authorization.client) + memoryOf([claims, record, response]),
  }) as Lru<object>

/** The parameters that a prepared token depends on. A request with another one is not prepared. */
const PARAMS = new Set(['grant_type', 'client_id', 'client_secret', 'scope', 'resource'])
/** A request without the first or with the second text is never prepared, and costs no hash. */
const [GRANT, ASSERTION] = ['grant_type=client_credentials', 'client_assertion'] as const

/** The text of a request as a hash, because the text has a secret. Of a DPoP proof it has the header, which names the key. Undefined when such a request is never prepared. */
function keyOf({ headers: { authorization = '', dpop = '' }, trace, body }: Request): string | undefined {
  if (trace || !body.includes(GRANT) || body.includes(ASSERTION)) return undefined
  return digest(`${authorization}\n${dpop.slice(0, dpop.indexOf('.') + 1)}\n${body.toString('latin1')}`)
}

/** The secret that a request sent which consists of nothing else than a prepared token depends on. */
function secretOf({ headers: { authorization } }: Request, form: Params, client: Client): ClientSecret | undefined {
  for (const name in form) if (!PARAMS.has(name)) return undefined
  const { client_secret = authorization && parseBasic(authorization)?.client_secret } = form
  return client_secret === undefined ? undefined : findSecret(client, client_secret)
}

/** Finds the prepared token of a request that has proved before, with the same secret, who sends it. Undefined when the rules must decide on it. */
export function findPrepared(app: App, request: Request): Prepared | undefined {
  const prepared = app.prepared.get(keyOf(request) ?? '') as Prepared | undefined
  return prepared && isCurrent(app, prepared) ? prepared : undefined
}

/** Notes on a request with a prepared token, and on its secret, what is noted after each authentication. */
export function notePrepared(app: App, request: Request, { authorization: { client }, secret }: Prepared): void {
  request.notes.client_id = client.client_id
  noteClient(request, client)
  noteSecretUse(app, client, secret)
}

/** Whether the records that a decision was made from are those in use, and its secret is still accepted. A changed record is another object. */
const isCurrent = (app: App, { authorization, key, resources, secret }: Prepared) =>
  authorization.client === app.store.caches['findClient']?.peek(authorization.client.client_id) &&
  resources === resourcesVersion(app) &&
  key === app.keyring.current(typOf(authorization)) &&
  isLiveSecret(secret, app.clock.now())

/** The version of the resources. NaN, which equals no version, if they were not cached. */
export const resourcesVersion = ({ store: { caches } }: App): number =>
  (caches['findResource']?.version ?? Number.NaN) + (caches['listResources']?.version ?? Number.NaN)

/** Keeps the decision on a request of a client that authenticated, for the next one like it. `resources` is the version from before the decision. */
export function keepPrepared(
  app: App,
  request: Request,
  form: Params,
  authorization: Authorization,
  response: TokenResponse,
  resources: number,
): void {
  const { client, resource } = authorization
  const secret = secretOf(request, form, client)
  const key = app.keyring.current(resource?.access_token_typ)
  if (!secret || !resource || isRemote(key)) return
  const name = keyOf(request)
  // The decision of an operator on a client that registered itself is a record of its own.
  if (name === undefined || needsApproval(app.config, client) || resources !== resourcesVersion(app)) return
  app.prepared.set(name, {
    authorization,
    key,
    resources,
    secret,
    ...textsOf(request, authorization, key, issuerOf(app.config)),
    response: JSON.stringify({ ...response, access_token: '' }).slice(BEFORE_TOKEN.length),
  } satisfies Prepared)
}

const typOf = ({ resource }: Authorization) => resource?.access_token_typ
const usesOf = (uses: readonly SingleUse[]) => (uses.length > 0 ? `,"uses":${JSON.stringify(uses)}}` : '}')
const BEFORE_TOKEN = '{"access_token":"'
const timesOf = ({ id, issued_at, expires_at }: NewIssuance) => `"exp":${expires_at},"iat":${issued_at},"jti":"${id}"`
const recordedAt = ({ issued_at, expires_at }: NewIssuance) => `"issued_at":${issued_at},"expires_at":${expires_at}`
const idOf = ({ id }: NewIssuance) => `{"id":"${id}"`
const ipOf = ({ ip }: NewIssuance) => `"ip":${JSON.stringify(ip)}`

/** The claims and the record as texts, without what differs in each token. A quotation mark in a value is escaped, so that only members are found. */
function textsOf(request: Request, authorization: Authorization, key: SigningKey, issuer: string) {
  const issuance = newIssuance(request, authorization, { now: 0, uses: [], key, typ: typOf(authorization) })
  const [before = '', after = ''] = JSON.stringify(claimsOf(issuance, issuer)).split(timesOf(issuance))
  const text = JSON.stringify(issuance).slice(idOf(issuance).length)
  const [about = '', rest = ''] = text.split(recordedAt(issuance))
  const [signed = '', end = ''] = rest.split(ipOf(issuance))
  return { claims: [before, after], record: [about, signed, end.slice(0, -1)] } as const
}

/** Issues a prepared token, and uses the proof of its request. Returns the response as text. Rejects when the storage or the signature fails. */
export async function issuePrepared(
  app: App,
  request: Request,
  prepared: Prepared,
  uses: readonly SingleUse[],
): Promise<string> {
  const { authorization, key, claims, record, response } = prepared
  const issuance = newIssuance(request, authorization, { now: app.clock.now(), uses, key, typ: typOf(authorization) })
  const text = `${idOf(issuance)}${record[0]}${recordedAt(issuance)}${record[1]}${ipOf(issuance)}${record[2]}${usesOf(uses)}`
  // The commit starts first: this thread may sign meanwhile.
  const committed = app.store.recordIssuance(Object.assign(issuance, { [JSON_TEXT]: text }))
  const token = app.crypto.sign(key, `${claims[0]}${timesOf(issuance)}${claims[1]}`)
  const [access_token] = await Promise.all([token, committed])
  app.knownTokens.signed(access_token, issuance.issued_at)
  noteIssued(app, request, authorization.client, issuance)
  return `${BEFORE_TOKEN}${access_token}${response}`
}
