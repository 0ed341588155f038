// Protocol `oauth`: the user authorizes at the provider; its refresh token is stored and exchanged for access tokens.
import type { z } from 'zod'
import { oauthConfig } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { UpstreamToken } from '../records/upstream_token.ts'
import { type Credential, hasScopes, isUsable, withToken } from './credential.ts'
import type { Protocol } from './protocol.ts'
import { configOf } from './provider.ts'
import { secretOf } from './secret.ts'
import { postUpstream, requestUpstreamToken } from './upstream.ts'

type OAuthConfig = z.output<typeof oauthConfig>

export const oauth = {
  name: 'oauth',
  connects: 'redirect',
  scoped: true,

  storedToken({ tokens, refresh_token }, wanted, now) {
    const exact = tokens.find((each) => isUsable(each, now) && hasScopes(each, wanted))
    if (exact || refresh_token !== undefined) return exact
    // Without a refresh token the only token is the first access token, which has every granted scope.
    return tokens.find(
      ({ scope, expires_at }) =>
        wanted.every((name) => scope.includes(name)) && (expires_at === undefined || now < expires_at),
    )
  },

  async renew(app, provider, credential, wanted) {
    const { refresh_token } = credential
    if (refresh_token === undefined) return undefined
    const config = configOf(provider, oauthConfig)
    const form = { grant_type: 'refresh_token', refresh_token, scope: wanted.join(' ') || undefined }
    const request = { url: config.token_url, ...authenticated(app, config, form) }
    const { token, ...answer } = await requestUpstreamToken(app, provider, request, wanted, config.response_format)
    const kept = { ...credential, refresh_token: answer.refresh_token ?? refresh_token }
    if (!wanted.every((name) => token.scope.includes(name))) return { credential: kept }
    // Only the requested scopes are recorded, even when the provider granted more.
    const own = { ...token, scope: [...wanted] }
    return { credential: withToken(kept, own, app.clock.now()), token: own }
  },

  /** Revokes the token by RFC 7009. */
  async revoke(app, provider, credential) {
    const config = configOf(provider, oauthConfig)
    const token = credential.refresh_token ?? credential.tokens[0]?.access_token
    if (config.revoke_url === undefined || token === undefined) return
    const hint = credential.refresh_token ? 'refresh_token' : 'access_token'
    const form = { token, token_type_hint: hint }
    await postUpstream(app, provider, { url: config.revoke_url, ...authenticated(app, config, form) })
  },
} satisfies Protocol

/** The URL of the authorization request at the provider (RFC 6749 §4.1.1, RFC 7636). */
export function authorizeUrl(
  provider: BrokerProvider,
  request: { redirect_uri: string; scope: string; state: string; code_challenge: string },
): string {
  const { authorize_url, client_id, extra_auth_params = {} } = configOf(provider, oauthConfig)
  const url = new URL(authorize_url)
  const { scope, ...rest } = request
  const params = { ...extra_auth_params, response_type: 'code', client_id, ...rest, code_challenge_method: 'S256' }
  for (const [name, value] of Object.entries({ ...params, ...(scope ? { scope } : {}) }))
    url.searchParams.set(name, value)
  return url.href
}

/** Redeems a code of the provider. Returns the credential and the granted scopes. Throws UpstreamRefusal, or 503. */
export async function redeemUpstreamCode(
  app: App,
  provider: BrokerProvider,
  { requested, ...proof }: { code: string; code_verifier: string; redirect_uri: string; requested: readonly string[] },
): Promise<{ credential: Credential; granted: string[] }> {
  const config = configOf(provider, oauthConfig)
  const request = {
    url: config.token_url,
    ...authenticated(app, config, { grant_type: 'authorization_code', ...proof }),
  }
  const { token, refresh_token } = await requestUpstreamToken(app, provider, request, requested, config.response_format)
  const first = refresh_token === undefined ? token : asRequested(token, requested)
  return { credential: { refresh_token, tokens: [first] }, granted: token.scope }
}

/**
 * The first token, recorded for the scopes that were requested. Many providers grant more (`openid`, `offline_access`): recorded with these,
 * the token would fit no request, and the first vend would always cost a refresh.
 */
const asRequested = (token: UpstreamToken, requested: readonly string[]): UpstreamToken =>
  requested.every((name) => token.scope.includes(name)) ? { ...token, scope: [...requested] } : token

const formEncoded = (text: string) => new URLSearchParams({ _: text }).toString().slice(2)

/** Adds the client credentials of this service at the provider to a form (RFC 6749 §2.3.1). */
function authenticated(app: App, config: OAuthConfig, form: Record<string, string | undefined>) {
  const { client_id } = config
  const client_secret = secretOf(app, config.client_secret_ref)
  if (config.token_endpoint_auth_method === 'client_secret_post') return { form: { ...form, client_id, client_secret } }
  const pair = Buffer.from(`${formEncoded(client_id)}:${formEncoded(client_secret)}`).toString('base64')
  return { form, headers: { authorization: `Basic ${pair}` } }
}
