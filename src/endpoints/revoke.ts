// POST /oauth/revoke (RFC 7009): answers 200 for every well-formed request, also when the token is unknown or belongs to another client.
import type { App } from '../context.ts'
import { REFRESH_TOKEN_PREFIX } from '../grants/refresh_token.ts'
import { empty, NO_STORE, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { type Bearer, equalSecrets, parseBearer } from '../lib/id.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import type { DetailOf } from '../oauth/audit_events.ts'
import { authenticateClient } from '../oauth/clients/client_auth.ts'
import { takeRequest } from '../oauth/clients/client_limits.ts'
import { decodeAccessToken, hasRecordedTyp, verifyAccessToken } from '../oauth/tokens/access_token.ts'
import type { Client } from '../records/client.ts'

const TYPES = ['access_token', 'refresh_token']

/** Answers a revocation request. */
export async function revoke(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  const client = await authenticateClient(app, request, form, 'any')
  await takeRequest(app, client)
  if (form.token === undefined) throw new OAuthError('invalid_request', 'token is missing', { reason: 'missing_token' })
  if (form.token_type_hint !== undefined && !TYPES.includes(form.token_type_hint))
    throw new OAuthError('unsupported_token_type', `tokens of this type cannot be revoked; known: ${TYPES.join(', ')}`)
  const bearer = parseBearer(REFRESH_TOKEN_PREFIX, form.token)
  const revoked = bearer
    ? await revokeRefreshToken(app, request, bearer, client)
    : await revokeAccessToken(app, request, form.token, client)
  if (revoked) app.metrics.count('core_tokens_revoked_total', { reason: 'client_request' })
  return empty(200, NO_STORE)
}

/** The event of a revocation. The store records it in the same transaction. */
const revokedEvent = (
  app: App,
  request: Request,
  { client_id }: Client,
  actor_id: string,
  detail: DetailOf<'token_revoked'>,
) => newAuditEvent(app, { action: 'token_revoked', actor_id, client_id, ...sentBy(request), detail })

/** Revokes the whole family of a refresh token: every token of that sign-in. Returns whether it was live. */
async function revokeRefreshToken(app: App, request: Request, bearer: Bearer, client: Client): Promise<boolean> {
  const found = await app.store.findRefreshToken({ id: bearer.id })
  if (!found || !equalSecrets(bearer.hash, found.token.hash)) return false
  const { id, client_id, user_id } = found.family
  if (client_id !== client.client_id) return false
  const event = revokedEvent(app, request, client, user_id, { token_type: 'refresh_token', family: id })
  const revocation = { id, reason: 'client_request', now: app.clock.now() } as const
  return (await app.store.recorded('revokeFamily', revocation, event)) > 0
}

/** Returns whether the token was live. */
async function revokeAccessToken(app: App, request: Request, token: string, client: Client): Promise<boolean> {
  const candidate = await decodeAccessToken(app, token)
  const claims = candidate && (await verifyAccessToken(app, candidate))
  if (!claims || claims.client_id !== client.client_id) return false
  const id = claims.jti
  const issuance = await app.store.findIssuance({ id })
  if (!issuance || !hasRecordedTyp(candidate, issuance)) return false
  const event = revokedEvent(app, request, client, claims.sub, { token_type: 'access_token', jti: id })
  return (await app.store.recorded('revokeIssuance', { id, now: app.clock.now() }, event)) > 0
}
