// The flow of a client through authorize, login, consent and token, over HTTP.
import { createHash, randomBytes } from 'node:crypto'
import { decodeJwt, type JWTPayload } from 'jose'
import { expect } from 'vitest'
import type { Client } from '../../src/records/client.ts'
import type { User } from '../../src/records/user.ts'
import { Browser, fieldsOf, type Page } from './browser.ts'
import { PASSWORD, REDIRECT_URI, type TestService } from './service.ts'

/** A PKCE pair (RFC 7636 §4). */
function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

type Fields = Record<string, string | undefined>
const defined = (fields: Fields) =>
  Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined)

/** The URL of an authorization request; undefined leaves a parameter out. */
export function authorizeUrl(service: TestService, fields: Fields): string {
  const { challenge } = pkce()
  const query = new URLSearchParams(
    defined({
      response_type: 'code',
      redirect_uri: REDIRECT_URI,
      scope: 'mcp:read',
      state: 'some-state',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...fields,
    }),
  )
  return `${service.issuer}/oauth/authorize?${query}`
}

/** Signs a user in on a login page. Returns the answer to the form. */
export function signIn(
  service: Pick<TestService, 'issuer'>,
  browser: Browser,
  page: Page,
  email: string,
  password = PASSWORD,
) {
  const fields = Object.fromEntries(fieldsOf(page))
  return browser.post(`${service.issuer}/login`, { ...fields, email, password })
}

/** Submits a consent page; `scopes` replaces the checked scopes. */
export function decide(
  service: TestService,
  browser: Browser,
  page: Page,
  action: 'allow' | 'deny',
  scopes?: string[],
) {
  const fields = fieldsOf(page).filter(([name]) => scopes === undefined || name !== 'scopes')
  const chosen = (scopes ?? []).map((name) => ['scopes', name] as [string, string])
  return browser.post(`${service.issuer}/consent`, [...fields, ...chosen, ['action', action]])
}

export interface Authorized {
  code: string
  verifier: string
  callback: URL
  browser: Browser
}

/** Takes a user through an authorization URL, with a sign-in if necessary. Returns the final redirect. */
export async function walk(
  service: TestService,
  url: string,
  user: Pick<User, 'email'>,
  browser = new Browser(),
  action: 'allow' | 'deny' = 'allow',
): Promise<URL> {
  let page = await browser.follow(url)
  if (page.text.includes('type="password"')) {
    const answer = await signIn(service, browser, page, user.email ?? '')
    page = answer.location?.startsWith(service.issuer) ? await browser.follow(answer.location) : answer
  }
  if (page.text.includes('value="allow"')) page = await decide(service, browser, page, action)
  if (!page.location) throw new Error(`no redirect but ${page.status}: ${page.text}`)
  return new URL(page.location)
}

/** Runs the flow up to the code. */
export async function authorize(
  service: TestService,
  client: Pick<Client, 'client_id'>,
  user: Pick<User, 'email'>,
  fields: Fields = {},
  browser = new Browser(),
): Promise<Authorized> {
  const { verifier, challenge } = pkce()
  const url = authorizeUrl(service, { client_id: client.client_id, code_challenge: challenge, ...fields })
  const callback = await walk(service, url, user, browser)
  return { code: callback.searchParams.get('code') ?? '', verifier, callback, browser }
}

export interface Answer {
  status: number
  headers: Headers
  body: Record<string, unknown>
}

interface Credentials {
  client_id: string
  client_secret?: string
}

/** Posts a form as a client: with HTTP Basic if it has a secret, otherwise with its client_id. */
export async function post(
  url: string,
  client: Credentials | undefined,
  fields: Fields,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const secret = client?.client_secret
  const basic = secret && Buffer.from(`${client.client_id}:${secret}`).toString('base64')
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(basic ? { authorization: `Basic ${basic}` } : {}),
      ...headers,
    },
    body: new URLSearchParams(defined({ ...(client && !secret ? { client_id: client.client_id } : {}), ...fields })),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : {} }
}

const requestToken = (
  { issuer }: Pick<TestService, 'issuer'>,
  client: Credentials,
  form: Record<string, string>,
  fields: Fields,
  headers: Record<string, string>,
): Promise<Answer> => post(`${issuer}/oauth/token`, client, { ...form, ...fields }, headers)

/** Redeems a code. */
export const redeem = (
  service: TestService,
  client: Credentials,
  { code, verifier }: Pick<Authorized, 'code' | 'verifier'>,
  fields: Fields = {},
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  return requestToken(service, client, form, fields, headers)
}

/** Uses a refresh token. */
export const refresh = (
  service: TestService,
  client: Credentials,
  refresh_token: unknown,
  fields: Fields = {},
  headers: Record<string, string> = {},
): Promise<Answer> =>
  requestToken(service, client, { grant_type: 'refresh_token', refresh_token: String(refresh_token) }, fields, headers)

/** Requests a client_credentials token. */
export const machineToken = (
  service: Pick<TestService, 'issuer'>,
  client: Credentials,
  fields: Fields = {},
  headers: Record<string, string> = {},
): Promise<Answer> => requestToken(service, client, { grant_type: 'client_credentials' }, fields, headers)

/** The introspection of a token by a client. */
export const introspect = async (service: TestService, client: Credentials, token: unknown): Promise<Answer['body']> =>
  (await post(`${service.issuer}/oauth/introspect`, client, { token: String(token) })).body
export const isActive = async (...args: Parameters<typeof introspect>): Promise<unknown> =>
  (await introspect(...args))['active']

/** The claims of the access token in an answer, which must contain one. */
export function claimsOf<C = Record<string, unknown>>({ status, body }: Answer): C & JWTPayload {
  expect(status, JSON.stringify(body)).toBe(200)
  return decodeJwt<C>(String(body['access_token']))
}

/** Checks that no token was issued, and the error. */
export function expectRefused({ status, body }: Answer, error: string, expected = 400, more: object = {}): void {
  expect([status, body['error']], JSON.stringify(body)).toEqual([expected, error])
  expect(body).toMatchObject(more)
  expect(body).not.toHaveProperty('access_token')
}

/** Registers a client (RFC 7591): additional metadata, or a complete body. */
export const register = (
  { issuer }: Pick<TestService, 'issuer'>,
  metadata: Record<string, unknown> | string | Uint8Array<ArrayBuffer> = {},
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${issuer}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body:
      typeof metadata === 'string' || metadata instanceof Uint8Array
        ? metadata
        : JSON.stringify({ client_name: 'Desk', redirect_uris: [REDIRECT_URI], ...metadata }),
  })
