// A valid request for every endpoint of both listeners, as bytes.
import { paramNames } from '../../src/admin/action.ts'
import { adminResources } from '../../src/admin/index.ts'
import { newId } from '../../src/lib/id.ts'
import { ACCESS_TOKEN, EXCHANGE } from '../support/exchange.ts'
import { signed } from '../support/idp.ts'
import { ADMIN_KEY, PASSWORD, REDIRECT_URI } from '../support/service.ts'
import { JWT_BEARER } from '../support/xaa.ts'
import { authorizeUrl, RESOURCE, type Scene } from '../torture/scene.ts'

type Fields = Record<string, string>

function request(method: string, path: string, headers: Fields, body = ''): Buffer {
  const all = { Host: 'localhost', ...headers, ...(body ? { 'Content-Length': String(Buffer.byteLength(body)) } : {}) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from([`${method} ${path} HTTP/1.1`, ...lines, '', body].join('\r\n'))
}
const form = (path: string, fields: Fields, headers: Fields = {}) =>
  request(
    'POST',
    path,
    { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    String(new URLSearchParams(fields)),
  )
const json = (method: string, path: string, value: unknown, headers: Fields = {}) =>
  request(method, path, { 'Content-Type': 'application/json', ...headers }, JSON.stringify(value))

/** Requests of clients and browsers. */
export async function publicCorpus(scene: Scene, access_token: string): Promise<Buffer[]> {
  const { machine, gateway, app, idp, issuer, key } = scene
  const now = Math.floor(Date.now() / 1000)
  const cookie = [...scene.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const claims = { htm: 'POST', htu: `${issuer}/oauth/token`, jti: newId(), iat: now }
  const dpop = await signed(key, { typ: 'dpop+jwt', jwk: key.jwk }, claims)
  const assertion = await idp.assertion({ aud: issuer, client_id: gateway.client_id, now })
  const authorize = authorizeUrl('', scene, RESOURCE, 'A'.repeat(43))
  const basic = Buffer.from(`${machine.client_id}:${machine.client_secret}`).toString('base64')
  const get = (path: string) => request('GET', path, { Cookie: cookie, Accept: 'text/html' })
  return [
    ...[
      '/',
      '/login',
      '/consent',
      '/livez',
      '/health',
      '/ready',
      '/account',
      '/connections',
      '/oidc/start',
      '/connect/x',
    ].map(get),
    ...['oauth-authorization-server', 'openid-configuration', 'jwks.json', 'agents.json'].map((name) =>
      get(`/.well-known/${name}`),
    ),
    get('/.well-known/oauth-protected-resource/mcp'),
    get(authorize),
    form('/oauth/token', { grant_type: 'client_credentials', ...machine, scope: 'mcp:read', resource: RESOURCE }),
    form('/oauth/token', { grant_type: 'client_credentials' }, { Authorization: `Basic ${basic}`, DPoP: dpop }),
    form('/oauth/token', {
      grant_type: 'authorization_code',
      client_id: app.client_id,
      code: `ac_${'A'.repeat(64)}`,
      code_verifier: 'A'.repeat(43),
      redirect_uri: REDIRECT_URI,
    }),
    form('/oauth/token', {
      grant_type: 'refresh_token',
      client_id: app.client_id,
      refresh_token: `rt_${'A'.repeat(64)}`,
    }),
    form('/oauth/token', {
      grant_type: EXCHANGE,
      ...gateway,
      subject_token: access_token,
      subject_token_type: ACCESS_TOKEN,
      actor_token: access_token,
      actor_token_type: ACCESS_TOKEN,
      resource: scene.behind,
    }),
    form('/oauth/token', { grant_type: JWT_BEARER, ...gateway, assertion, resource: RESOURCE }),
    form('/oauth/introspect', { ...machine, token: access_token, token_type_hint: 'access_token' }),
    form('/oauth/revoke', { ...machine, token: access_token }),
    json('POST', '/oauth/register', {
      client_name: 'X',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code'],
    }),
    form(
      '/login',
      { email: 'ada@example.com', password: PASSWORD, csrf: 'x', return_to: authorize },
      { Cookie: cookie },
    ),
    form('/consent', { action: 'allow', scopes: 'mcp:read', csrf: 'x' }, { Cookie: cookie }),
    form('/account/sign-ins', { others: '1', csrf_token: 'x' }, { Cookie: cookie }),
    form('/logout', {}, { Cookie: cookie }),
    request('OPTIONS', '/oauth/token', { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'POST' }),
  ]
}

/** A request for every operation of the admin API. Most of the named items do not exist. */
export function adminCorpus({ machine }: Scene): Buffer[] {
  const headers = { Authorization: `Bearer ${ADMIN_KEY}` }
  return adminResources.flatMap(({ actions }) =>
    Object.values(actions).map(({ method, path, body, query }) => {
      const filled = paramNames(path).reduce(
        (at, name) => at.replace(`{${name}}`, name === 'client_id' ? machine.client_id : 'x'),
        path,
      )
      const target = query ? `${filled}?limit=5&after=${newId()}&since=2026-01-01T00%3A00%3A00Z` : filled
      return body
        ? json(
            method,
            target,
            { client_name: 'x', name: 'x', slug: 'x', scopes: [{ name: 'a' }], dry_run: true },
            headers,
          )
        : request(method, target, headers)
    }),
  )
}
