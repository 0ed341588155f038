// A fake OpenID provider: signs any ID token that a test needs, with an independent library.
import { decodeJwt } from 'jose'
import { expect } from 'vitest'
import { oidcSettings } from '../../src/config/oidc_keys.ts'
import { createFetcher } from '../../src/net/fetch.ts'
import { openOidcProvider } from '../../src/oauth/federation/oidc_provider.ts'
import { Browser, type Page } from './browser.ts'
import type { Changes } from './dpop.ts'
import { type IdpKey, signed, TestIdp } from './idp.ts'
import { startService, type TestService } from './service.ts'

export const CLIENT_ID = 'service-rp'
export const CLIENT_SECRET = 'upstream-client-secret-5f1c9a7e2b64'
/** The text in every message of the fake provider. */
export const CANARY = 'canary-7c1e-do-not-repeat'

/** The next ID token: with changes, or built by the test from the valid claims. */
type NextToken = Changes & { key?: IdpKey; text?: (claims: Record<string, unknown>) => string | Promise<string> }

export interface FakeProvider {
  idp: TestIdp
  /** Members of the metadata to replace. */
  metadata: Record<string, unknown>
  person: Record<string, unknown>
  next: NextToken
  /** Instead of a token response. */
  tokenAnswer?: { status: number; body: unknown; headers?: Record<string, string> }
  userinfo?: Record<string, unknown>
  /** The forms that the token endpoint received, with the Authorization header. */
  asked: Record<string, string>[]
  /** The nonce of the current sign-in. */
  nonce: string
}

/** Starts a fake provider; it is closed when the test file ends. */
async function startFake(alg = 'RS256'): Promise<FakeProvider> {
  const idp = await TestIdp.start(alg)
  const fake: FakeProvider = { idp, metadata: {}, person: { sub: 'up-ada' }, next: {}, asked: [], nonce: '' }
  const { issuer, jwks_uri } = idp
  const json = (body: unknown, status = 200, headers: Record<string, string> = {}) => ({ body, status, headers })
  const serve = (
    path: string,
    answer: (form: string, authorization: string) => ReturnType<typeof json> | Promise<ReturnType<typeof json>>,
  ) => {
    idp.routes[path] = async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { body, status, headers } = await answer(
        Buffer.concat(chunks).toString(),
        request.headers.authorization ?? '',
      )
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }
  }
  serve('/.well-known/openid-configuration', () =>
    json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri,
      ...fake.metadata,
    }),
  )
  serve('/token', async (form, authorization) => {
    fake.asked.push({ ...Object.fromEntries(new URLSearchParams(form)), authorization })
    if (fake.tokenAnswer) return { headers: {}, ...fake.tokenAnswer }
    return json({ access_token: 'upstream-access-token', token_type: 'Bearer', id_token: await nextToken(fake) })
  })
  serve('/userinfo', () => (fake.userinfo ? json(fake.userinfo) : json({ error: CANARY }, 500)))
  return fake
}

async function nextToken(fake: FakeProvider): Promise<string> {
  const { header, claims, key = fake.idp.key, text } = fake.next
  fake.next = {}
  const now = Math.floor(Date.now() / 1000)
  const right = {
    iss: fake.idp.issuer,
    aud: CLIENT_ID,
    iat: now,
    exp: now + 300,
    nonce: fake.nonce,
    ...fake.person,
    ...claims,
  }
  return text ? text(right) : signed(key, { kid: key.kid, ...header }, right)
}

/** Environment of a service whose users sign in at a provider. */
export const federating = (issuer: string, more: Record<string, string> = {}): Record<string, string> => ({
  SERVICE_OIDC_ENABLED: 'true',
  SERVICE_OIDC_ISSUER: issuer,
  SERVICE_OIDC_CLIENT_ID: CLIENT_ID,
  SERVICE_OIDC_CLIENT_SECRET: CLIENT_SECRET,
  SERVICE_OIDC_REDIRECT_URI: '<issuer>/oidc/callback',
  SERVICE_OIDC_DISPLAY_NAME: 'Corporate SSO',
  SERVICE_OIDC_ALLOW_PRIVATE_ADDRESSES: 'true',
  ...more,
})

/** A service and the fake provider that it trusts. */
export async function openFederation(
  more: Record<string, string> = {},
  { alg, file }: { alg?: string; file?: string } = {},
) {
  const fake = await startFake(alg)
  return { fake, service: await startService(federating(fake.idp.issuer, more), file) }
}

/** Starts a sign-in in a browser. Returns the callback URL of the provider. */
export async function leave(
  { issuer }: TestService,
  fake: FakeProvider,
  browser: Browser,
  redirect = '/',
): Promise<URL> {
  const page = await browser.open(`${issuer}/oidc/start?${new URLSearchParams({ redirect })}`)
  expect(page.status, page.text).toBe(302)
  const asked = new URL(page.location ?? '').searchParams
  fake.nonce = asked.get('nonce') ?? ''
  return new URL(
    `${asked.get('redirect_uri')}?${new URLSearchParams({ code: 'a-code', state: asked.get('state') ?? '' })}`,
  )
}

/** A complete sign-in. Returns the answer to the callback. */
export async function signInAt(
  service: TestService,
  fake: FakeProvider,
  browser = new Browser(),
  redirect = '/',
): Promise<Page> {
  return browser.open((await leave(service, fake, browser, redirect)).href)
}

/** Whether a browser has a session. */
export const isSignedIn = async ({ issuer }: TestService, browser: Browser): Promise<boolean> =>
  (await browser.open(`${issuer}/account`)).status === 200

/** The `sub` of an access token. */
export const subjectOf = (access_token: unknown): string => decodeJwt(String(access_token)).sub ?? ''

/** Clears the cached data about the provider in a service, and sets another client if one is given. */
export function forgetProvider({ app }: TestService, allowPrivate = true): void {
  const fetcher = createFetcher({ allowPrivate, userAgent: 'test' })
  Object.assign(app, { oidc: oidcSettings(app.config).map((each) => openOidcProvider(each, { ...app, fetcher })) })
}

/** The file and the environment of a further provider of a service, for startService(). */
export const alsoFederating = (
  slug: string,
  issuer: string,
  more: Record<string, unknown> = {},
): { record: Record<string, unknown>; env: Record<string, string> } => ({
  record: { slug, issuer, client_id: CLIENT_ID, allow_private_addresses: true, display_name: slug, ...more },
  env: {
    [`SERVICE_OIDC_PROVIDERS_${slug.toUpperCase()}_CLIENT_SECRET`]: CLIENT_SECRET,
    [`SERVICE_OIDC_PROVIDERS_${slug.toUpperCase()}_REDIRECT_URI`]: `<issuer>/oidc/callback/${slug}`,
  },
})
