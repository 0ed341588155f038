// POST /oauth/introspect (RFC 7662): the state of a token, for the client that it was issued to and for the servers of its resource.
import type { App } from '../context.ts'
import { json, NO_STORE, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { authenticateClient } from '../oauth/clients/client_auth.ts'
import { takeRequest } from '../oauth/clients/client_limits.ts'
import { type AccessTokenClaims, checkToken, type LiveToken, tokenType } from '../oauth/tokens/access_token.ts'
import type { Client } from '../records/client.ts'

/** Answers an introspection request. A token that is not valid, or that the caller may not see, is inactive. */
export async function introspect(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  const caller = await authenticateClient(app, request, form, 'confidential')
  await takeRequest(app, caller)
  if (form.token === undefined) throw new OAuthError('invalid_request', 'token is missing', { reason: 'missing_token' })
  const checked = await checkToken(app, form.token)
  const inactive =
    typeof checked === 'string'
      ? checked
      : (await maySee(app, checked.claims, caller))
        ? undefined
        : 'not_on_runtime_list'
  const live = typeof checked === 'string' || inactive ? undefined : checked
  request.notes.inactive = inactive
  app.metrics.count('core_introspection_total', { result: live ? 'active' : 'inactive' })
  app.metrics.observe('core_introspection_duration_seconds', (performance.now() - request.startedMs) / 1000)
  return json(200, live ? responseOf(live) : { active: false }, NO_STORE)
}

/** Whether the caller is the client of the token, or a server of its resource. */
async function maySee(app: App, claims: AccessTokenClaims, caller: Client): Promise<boolean> {
  if (caller.client_id === claims.client_id) return true
  const uri = claims.aud?.[0]
  const resource = uri === undefined ? undefined : await app.store.findResource({ uri })
  return resource?.policy.runtime.client_ids.includes(caller.client_id) ?? false
}

/** The claims about the user are those of now, not those of the token. */
const responseOf = ({ claims: { aud, cnf, groups, email, email_verified, name, ...claims }, about }: LiveToken) => ({
  active: true,
  ...claims,
  ...about,
  ...(aud ? { aud: aud[0] } : {}),
  token_type: tokenType({ jkt: cnf?.jkt }),
  ...(cnf ? { cnf } : {}),
})
