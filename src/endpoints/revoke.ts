// POST /oauth/revoke (RFC 7009): answers 200 for every well-formed request, also when the token is unknown or belongs to another client.
import type { App } from '../context.ts'
import { REFRESH_TOKEN_PREFIX } from '../grants/refresh_token.ts'
import { empty, NO_STORE, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { type Bearer, equalSecrets, parseBearer } from '../lib/id.ts'
import { decodeAccessToken, hasRecordedTyp, verifyAccessToken } from '../oauth/access_token.ts'
import { audit, sentBy } from '../oauth/audit.ts'
import { authenticateClient } from '../oauth/client_auth.ts'
import { takeRequest } from '../oauth/client_limits.ts'
import type { Client } from '../records/client.ts'

const TYPES = ['access_token', 'refresh_token']

/** A revoked token. */
interface Revoked {
  type: 'access_token' | 'refresh_token'
  sub: string
  /** The jti of an access token, or the family of a refresh token. */
  id: string
}

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
    ? await revokeRefreshToken(app, bearer, client)
    : await revokeAccessToken(app, form.token, client)
  if (revoked) {
    app.metrics.count('core_tokens_revoked_total', { reason: 'client_request' })
    await audit(app, {
      action: 'token_revoked',
      actor_id: revoked.sub,
      client_id: client.client_id,
      ...sentBy(request),
      detail: { token_type: revoked.type, [revoked.type === 'access_token' ? 'jti' : 'family']: revoked.id },
    })
  }
  return empty(200, NO_STORE)
}

/** Revokes the whole family of a refresh token: every token of that sign-in. */
async function revokeRefreshToken(app: App, bearer: Bearer, client: Client): Promise<Revoked | undefined> {
  const found = await app.store.findRefreshToken({ id: bearer.id })
  if (!found || !equalSecrets(bearer.hash, found.token.hash)) return undefined
  const { id, client_id, user_id } = found.family
  if (client_id !== client.client_id) return undefined
  const live = await app.store.revokeFamily({ id, reason: 'client_request', now: app.clock.now() })
  return live > 0 ? { type: 'refresh_token', sub: user_id, id } : undefined
}

async function revokeAccessToken(app: App, token: string, client: Client): Promise<Revoked | undefined> {
  const candidate = await decodeAccessToken(app, token)
  const claims = candidate && (await verifyAccessToken(app, candidate))
  if (!claims || claims.client_id !== client.client_id) return undefined
  const issuance = await app.store.findIssuance({ id: claims.jti })
  if (!issuance || !hasRecordedTyp(candidate, issuance)) return undefined
  const live = await app.store.revokeIssuance({ id: claims.jti, now: app.clock.now() })
  return live > 0 ? { type: 'access_token', sub: claims.sub, id: claims.jti } : undefined
}
