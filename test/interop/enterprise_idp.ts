// The identity provider of a company: it issues ID-JAG assertions for the ID tokens of its employees (RFC 8693).
import { text } from 'node:stream/consumers'
import { importJWK, jwtVerify } from 'jose'
import { newId } from '../../src/lib/id.ts'
import type { Clock } from '../../src/lib/time.ts'
import { signed, TestIdp } from '../support/idp.ts'

export interface EnterpriseIdp {
  readonly idp: TestIdp
  readonly app: { clientId: string; clientSecret: string }
  /** The requests of the app: audience, resource and scope. */
  readonly given: Record<string, string>[]
  /** Whether an employee may use the app there at all. */
  isAssigned: boolean
  /** The ID token of an employee who signed in to the app. */
  idToken(sub: string): Promise<string>
}

/** Starts an identity provider with one app, and with the `client_id` of the app at the authorization server. */
export async function startEnterpriseIdp(client_id: string, clock: Clock): Promise<EnterpriseIdp> {
  const idp = await TestIdp.start()
  const app = { clientId: 'chat-app', clientSecret: 'chat-app-secret' }
  const { issuer } = idp
  const claims = (lifetime: number) => ({ iss: issuer, iat: clock.now(), exp: clock.now() + lifetime })
  const enterprise: EnterpriseIdp = {
    idp,
    app,
    given: [],
    isAssigned: true,
    idToken: (sub) =>
      signed(idp.key, { typ: 'JWT', kid: idp.key.kid }, { ...claims(3600), aud: app.clientId, sub, nonce: newId() }),
  }

  async function grant(form: URLSearchParams): Promise<[status: number, body: object]> {
    const of = (name: string) => form.get(name) ?? ''
    if (of('client_id') !== app.clientId || of('client_secret') !== app.clientSecret)
      return [401, { error: 'invalid_client' }]
    if (
      of('grant_type') !== 'urn:ietf:params:oauth:grant-type:token-exchange' ||
      of('requested_token_type') !== 'urn:ietf:params:oauth:token-type:id-jag' ||
      of('subject_token_type') !== 'urn:ietf:params:oauth:token-type:id_token'
    )
      return [400, { error: 'invalid_request' }]
    const key = await importJWK(idp.key.jwk, idp.key.alg)
    const currentDate = new Date(clock.now() * 1000)
    const { payload } = await jwtVerify(of('subject_token'), key, { issuer, audience: app.clientId, currentDate })
    if (!enterprise.isAssigned) return [400, { error: 'access_denied', error_description: 'not assigned' }]
    const [aud, resource, scope] = [of('audience'), of('resource'), of('scope')]
    enterprise.given.push({ aud, resource, scope })
    const access_token = await idp.assertion(
      { aud, client_id, now: clock.now() },
      { claims: { sub: payload.sub, resource, ...(scope ? { scope } : {}) } },
    )
    const issued_token_type = 'urn:ietf:params:oauth:token-type:id-jag'
    return [200, { access_token, issued_token_type, token_type: 'N_A', expires_in: 300, scope }]
  }

  idp.routes['/.well-known/oauth-authorization-server'] = (_request, response) => {
    const body = { issuer, token_endpoint: `${issuer}/token`, jwks_uri: idp.jwks_uri }
    const required = { authorization_endpoint: `${issuer}/authorize`, response_types_supported: ['code'] }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...body, ...required }))
  }
  idp.routes['/token'] = async (request, response) => {
    const [status, body] = await grant(new URLSearchParams(await text(request)))
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  return enterprise
}
