// Every pair of optional features at once: what two guides recommend works together. Each pair walks the main flows.
import { expect, test } from 'vitest'
import { yamlFile } from '../config/loading.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { addDeviceClient, askForCode, codesOf, enterCode, poll } from '../support/device.ts'
import { addApp, signInWith } from '../support/factors.ts'
import { authorizeUrl, decide, introspect, machineToken, post, redeem, refresh, register } from '../support/flow.ts'
import { alsoFederating, federating } from '../support/openid_fake.ts'
import {
  ADMIN_KEY,
  addClient,
  addResource,
  addUser,
  SEALED,
  startService,
  type TestService,
} from '../support/service.ts'

const PROVIDER = 'http://localhost:9'
const second = alsoFederating('second', 'http://localhost:9/second', {})
const FEATURES: Record<string, Record<string, string>> = {
  openid: { SERVICE_OAUTH_OPENID: 'true' },
  devices: { SERVICE_DEVICE_ENABLED: 'true', SERVICE_CIBA_ENABLED: 'true' },
  scim: { ...federating(PROVIDER), SERVICE_SCIM_ENABLED: 'true' },
  mfa: { SERVICE_MFA_REQUIRED: 'always' },
  broker: { ...SEALED, SERVICE_CONNECT_STATE_SECRET: 'a state secret of the tests, long enough' },
  providers: { ...federating(PROVIDER), ...second.env },
  approval: { SERVICE_CLIENTS_APPROVAL: 'all' },
  mcp: { SERVICE_ADMIN_MCP_ENABLED: 'true', SERVICE_ADMIN_MCP_URL: '<admin>/mcp' },
  sign_in: {
    SERVICE_ADMIN_SIGN_IN_ENABLED: 'true',
    SERVICE_ADMIN_SIGN_IN_LOCAL: 'true',
    SERVICE_ADMIN_SIGN_IN_URL: '<admin>',
  },
  retention: { SERVICE_RETENTION_ENABLED: 'true' },
}
const names = Object.keys(FEATURES)
const PAIRS = names.flatMap((one, i) => names.slice(i + 1).map((other) => [one, other] as const))

async function walkAll(service: TestService, on: ReadonlySet<string>): Promise<void> {
  const machine = await addClient(service)
  const { uri: resource } = await addResource(service, { policy: { runtime: { client_ids: [machine.client_id] } } })
  const user = await addUser(service)
  const browser = (await signInWith(service, user.email)) as Browser
  if (on.has('mfa')) await addApp(service, browser, await browser.follow(`${service.issuer}/account`))
  expect((await browser.follow(`${service.issuer}/account`)).text).toContain(user.email)

  const scope = on.has('openid') ? 'openid mcp:read' : 'mcp:read'
  const registered = await register(service, { token_endpoint_auth_method: 'none' })
  const client = (await registered.json()) as { client_id: string }
  const verifier = 'v'.repeat(43)
  const challenge = '7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM'
  const url = authorizeUrl(service, { ...client, scope, resource, code_challenge: challenge })
  if (on.has('approval')) {
    expect((await browser.follow(url)).text).toContain('is not approved yet')
    const [request] = await okAdmin<{ id: string }[]>(service, 'GET', '/admin/client-requests?status=waiting')
    await okAdmin(service, 'POST', `/admin/client-requests/${request?.id}/approve`)
  }
  const { location = '' } = await decide(service, browser, await browser.follow(url), 'allow')
  const code = new URL(location).searchParams.get('code') ?? ''
  const tokens = await redeem(service, client, { code, verifier })
  expect([tokens.status, 'id_token' in tokens.body]).toEqual([200, on.has('openid')])
  const about = await introspect(service, machine, tokens.body['access_token'])
  expect(about).toMatchObject({ active: true, sub: user.id, ...(on.has('mfa') ? { acr: 'mfa' } : {}) })
  const next = await refresh(service, client, tokens.body['refresh_token'])
  expect(next.status).toBe(200)
  await post(`${service.issuer}/oauth/revoke`, client, { token: String(next.body['refresh_token']) })
  expect((await refresh(service, client, next.body['refresh_token'])).body['error']).toBe('invalid_grant')
  expect((await machineToken(service, machine, { resource, scope: 'mcp:read' })).status).toBe(200)

  if (on.has('devices')) {
    const device = await addDeviceClient(service)
    const codes = codesOf(await askForCode(service, device, { resource, scope: 'mcp:read' }))
    const entered = await enterCode(service, browser, codes.user_code)
    await decide(service, browser, await browser.follow(String(entered.location)), 'allow')
    expect((await poll(service, device, codes)).status).toBe(200)
  }
  const statusOf = async (at: string, init?: RequestInit) => (await fetch(at, { redirect: 'manual', ...init })).status
  expect(await statusOf(`${service.issuer}/scim/v2/Users`)).toBe(on.has('scim') ? 401 : 404)
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, accept: 'application/json, text/event-stream' }
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const asked = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(list),
  }
  expect(await statusOf(`${service.admin}/mcp`, asked)).toBe(on.has('mcp') ? 200 : 404)
  const login = await new Browser().open(`${service.issuer}/login`)
  for (const feature of ['providers', 'scim']) if (on.has(feature)) expect(login.text).toContain('/oidc/start')
  const { subsystems } = await okAdmin<{ subsystems: { status: string }[] }>(service, 'GET', '/admin/system/status')
  expect(subsystems.filter(({ status }) => status === 'unhealthy')).toEqual([])
  expect((await fetch(`${service.admin}/ready`)).status).toBe(200)
}

test.each(PAIRS)('%s and %s', async (one, other) => {
  const file =
    one === 'providers' || other === 'providers' ? yamlFile({ oidc: { providers: [second.record] } }) : undefined
  const env = { SERVICE_DCR_MODE: 'open', SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0', ...FEATURES[one], ...FEATURES[other] }
  const service = await startService(env, file)
  try {
    await walkAll(service, new Set([one, other]))
  } finally {
    await service.close()
  }
})
