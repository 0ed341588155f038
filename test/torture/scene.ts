// Everything that the clients of a torture need, registered as operators and users do.
import { assert } from 'vitest'
import { Browser, fieldsOf } from '../support/browser.ts'
import { type ProofKey, proofKey } from '../support/dpop.ts'
import { EXCHANGE } from '../support/exchange.ts'
import { TestIdp } from '../support/idp.ts'
import { ADMIN_KEY, PASSWORD, REDIRECT_URI } from '../support/service.ts'
import { JWT_BEARER } from '../support/xaa.ts'
import type { Machine } from './history.ts'

export const RESOURCE = 'https://mcp.example.com/mcp'
const BEHIND = 'https://mcp.example.com/behind'
const SCOPE = 'mcp:read'

export interface Scene {
  issuer: string
  admin: string
  machine: Machine
  gateway: Machine
  app: { client_id: string }
  key: ProofKey
  idp: TestIdp
  behind: string
  browser: Browser
}

/** An operation of the admin API. Rejects when it is refused. */
export async function operate<R>(admin: string, method: string, path: string, body?: object): Promise<R> {
  const response = await fetch(`${admin}/admin/${path}`, {
    method,
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return (text ? JSON.parse(text) : undefined) as R
}

/** Registers it at a running service. */
export async function openScene(issuer: string, admin: string): Promise<Scene> {
  const create = <R>(path: string, body: object) => operate<R>(admin, 'POST', path, body)
  const machine = await newMachine(admin, ['client_credentials'])
  const gateway = await newMachine(admin, [EXCHANGE, JWT_BEARER])
  const { client_id } = gateway
  const resource = { backend_kind: 'mint', scopes: [{ name: SCOPE }] }
  const policy = { exchange: { allowed_client_ids: [client_id] } }
  await create('resources', { ...resource, slug: 'front', uri: RESOURCE })
  await create('resources', { ...resource, slug: 'behind', uri: BEHIND, policy })
  const user = { email: 'ada@example.com', password: PASSWORD }
  await create('users', { ...user, name: 'Ada' })
  const app = await create<{ client_id: string }>('clients', {
    client_name: 'App',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [REDIRECT_URI],
    scope: SCOPE,
  })
  const idp = await TestIdp.start()
  const { id } = await create<{ id: string }>('idps', { issuer: idp.issuer, jwks_uri: idp.jwks_uri })
  await create('xaa/policies', { idp_id: id, client_ids: [client_id], resources: [RESOURCE] })
  const scene = {
    issuer,
    admin,
    machine,
    gateway,
    app,
    key: await proofKey(),
    idp,
    behind: BEHIND,
    browser: new Browser(),
  }
  for (const uri of [RESOURCE, BEHIND]) await consent(scene, uri, user)
  return scene
}

export const newMachine = (admin: string, grant_types: string[]): Promise<Machine> =>
  operate<Machine>(admin, 'POST', 'clients', {
    client_name: 'Machine',
    grant_types,
    scope: SCOPE,
    token_endpoint_auth_method: 'client_secret_post',
  })

/** Where the browser asks for a code. */
export function authorizeUrl(base: string, { app }: Pick<Scene, 'app'>, resource: string, challenge: string): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: app.client_id,
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    resource,
    state: 'torture',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })
  return `${base}/oauth/authorize?${query}`
}

async function consent(scene: Scene, resource: string, user: { email: string; password: string }): Promise<void> {
  const { browser, issuer } = scene
  let page = await browser.follow(authorizeUrl(issuer, scene, resource, 'A'.repeat(43)))
  if (page.text.includes('type="password"')) {
    const answer = await browser.post(`${issuer}/login`, { ...Object.fromEntries(fieldsOf(page)), ...user })
    assert(answer.location)
    page = await browser.follow(answer.location)
  }
  if (page.text.includes('value="allow"'))
    page = await browser.post(`${issuer}/consent`, [...fieldsOf(page), ['action', 'allow']])
  assert(page.location?.startsWith(REDIRECT_URI), page.text)
}
