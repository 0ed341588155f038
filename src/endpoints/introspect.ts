// POST /oauth/introspect (RFC 7662): what a token is worth, for its own client and for the servers of its resource.
import type { App } from '../context.ts'
import { json, NO_STORE, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { type AccessTokenClaims, judgeToken, tokenType } from '../oauth/access_token.ts'
import { authenticateClient } from '../oauth/client_auth.ts'
import type { Client } from '../records/client.ts'

/** Answers an introspection request; whatever is not live, or not the caller's business, is just inactive. */
export async function introspect(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  const caller = await authenticateClient(app, request, form, 'confidential')
  if (form.token === undefined) throw new OAuthError('invalid_request', 'token is missing', { reason: 'missing_token' })
  const judged = await judgeToken(app, form.token)
  const dead =
    typeof judged === 'string' ? judged : (await maySee(app, judged.claims, caller)) ? undefined : 'not_on_runtime_list'
  const claims = typeof judged === 'string' || dead ? undefined : judged.claims
  request.notes.inactive = dead
  app.metrics.count('core_introspection_total', { result: claims ? 'active' : 'inactive' })
  app.metrics.observe('core_introspection_duration_seconds', (performance.now() - request.startedMs) / 1000)
  return json(200, claims ? shown(claims) : { active: false }, NO_STORE)
}

/** The client that the token was issued to, and the clients that serve its resource. */
async function maySee(app: App, claims: AccessTokenClaims, caller: Client): Promise<boolean> {
  if (caller.client_id === claims.client_id) return true
  const uri = claims.aud?.[0]
  const resource = uri === undefined ? undefined : await app.store.findResource({ uri })
  return resource?.policy.runtime.client_ids.includes(caller.client_id) ?? false
}

const shown = ({ aud, cnf, ...claims }: AccessTokenClaims) => ({
  active: true,
  ...claims,
  ...(aud ? { aud: aud[0] } : {}),
  token_type: tokenType({ jkt: cnf?.jkt }),
  ...(cnf ? { cnf } : {}),
})
