// GET and POST /oauth/userinfo (OpenID Connect Core §5.3): the claims about the user of an access token.
import type { App } from '../context.ts'
import { json, NO_STORE, parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { isUserId } from '../oauth/clients/client_metadata.ts'
import { isSignIn, userClaims } from '../oauth/openid.ts'
import { checkToken, type LiveToken } from '../oauth/tokens/access_token.ts'
import { checkBound, DPOP_ALGS, useProof } from '../oauth/tokens/dpop.ts'
import { scopeNames, stillGranted } from '../oauth/tokens/resource.ts'

/** Answers with the claims that the scopes of the token grant. The token must be for this endpoint, not for a resource. */
export async function userinfo(app: App, request: Request): Promise<Reply> {
  try {
    const { scheme, token } = tokenOf(request)
    if (token === undefined)
      throw new OAuthError('invalid_token', 'the access token is missing', { reason: 'no_token' })
    const live = await findToken(app, token)
    await checkKey(app, request, live, scheme, token)
    const { claims, user_version: version } = live
    const scope = await scopeNow(app, live)
    if (!isSignIn(scope) || !isUserId(claims.sub) || version === undefined)
      throw new OAuthError('insufficient_scope', 'the scope openid is required', { reason: 'no_openid' })
    const person = await app.store.findPerson({ id: claims.sub, version })
    return json(200, { sub: claims.sub, ...userClaims(person, scope) }, NO_STORE)
  } catch (error) {
    throw error instanceof OAuthError && error.status < 500 ? challenged(app, error) : error
  }
}

/** The token of the Authorization header, or of a form (RFC 6750 §2.1, §2.2). */
function tokenOf(request: Request): { scheme: string; token?: string } {
  const [, scheme = 'bearer', token] = /^(bearer|dpop) +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? []
  const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded')
  const { access_token } = isForm ? parseForm(request) : {}
  if (token !== undefined && access_token !== undefined)
    throw new OAuthError('invalid_request', 'the access token is sent twice', { reason: 'two_tokens' })
  return { scheme: scheme.toLowerCase(), token: token ?? access_token }
}

async function findToken(app: App, token: string): Promise<LiveToken> {
  const refused = (reason: Reason) => new OAuthError('invalid_token', 'the access token is not valid here', { reason })
  const live = await checkToken(app, token)
  if (typeof live === 'string') throw refused(live)
  if (!live.is_for_userinfo) throw refused('other_audience')
  return live
}

/** The scopes of the token that the user still allows, and that the operator still allows the client to have. */
async function scopeNow(app: App, { claims, consent_scope: consented }: LiveToken): Promise<string[]> {
  const client = await app.store.findClient({ client_id: claims.client_id })
  return client ? stillGranted(scopeNames(claims.scope ?? ''), { client, consented }) : []
}

/** A bound token needs a proof of its key for this request, and the scheme DPoP (RFC 9449 §7.1). */
async function checkKey(app: App, request: Request, { claims }: LiveToken, scheme: string, token: string) {
  const jkt = claims.cnf?.jkt
  if ((jkt === undefined) !== (scheme === 'bearer'))
    throw new OAuthError('invalid_token', 'the token type is not that of the Authorization header', {
      reason: 'scheme',
    })
  if (jkt !== undefined) checkBound(jkt, await useProof(app, request, token))
}

/** RFC 6750 §3, RFC 9449 §7.1: which tokens are accepted, and what is wrong with this one. A request without a token has no error. */
function challenged({ config }: App, error: OAuthError): OAuthError {
  const said = error.reason === 'no_token' ? [] : [`error="${error.code}"`]
  const scope = error.code === 'insufficient_scope' ? ['scope="openid"'] : []
  const bearer = ['Bearer realm="userinfo"', ...said, ...scope].join(', ')
  const dpop = ['DPoP realm="userinfo"', ...said, `algs="${DPOP_ALGS.join(' ')}"`].join(', ')
  const isProof = error.code === 'invalid_dpop_proof' || error.code === 'use_dpop_nonce'
  const status = isProof ? 401 : error.status
  const challenges = config.dpop.enabled ? `${bearer}, ${dpop}` : bearer
  return new OAuthError(error.code, error.message, {
    ...error.more,
    status,
    headers: { ...error.more.headers, 'www-authenticate': challenges },
  })
}
