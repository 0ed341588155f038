// What doctor and the status say about upstream OpenID providers, with oidc-provider as the provider.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { yamlFile } from '../config/loading.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { envOf, runHere } from '../support/cli.ts'
import { alsoFederating, CLIENT_SECRET, federating } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { startService, type TestService } from '../support/service.ts'

let op: RealProvider
let other: RealProvider
let service: TestService
beforeAll(async () => {
  ;[op, other] = [await RealProvider.listen('/realms/staff'), await RealProvider.listen()]
  const { record, env } = alsoFederating('acme', other.issuer)
  service = await startService({ ...federating(op.issuer), ...env }, yamlFile({ oidc: { providers: [record] } }))
  op.open(service)
  other.open({ ...service, slug: 'acme' })
})
afterAll(async () => {
  await service.close()
  op.close()
  other.close()
})

interface Finding {
  check: string
  result: string
  message: string
  fix?: string
}
async function doctor(variables: Record<string, string>) {
  const redirect = { SERVICE_OIDC_REDIRECT_URI: `${service.issuer}/oidc/callback` }
  const env = { ...envOf(service), ...federating(op.issuer), ...redirect, ...variables }
  const { code, stdout } = await runHere(['doctor', '--json'], env)
  const [finding] = (JSON.parse(stdout) as Finding[]).filter(({ check }) => check === 'provider default')
  return { code, ...finding }
}

describe('doctor', () => {
  test('passes for a provider that serves its metadata and accepts this service', async () => {
    const found = await doctor({})
    expect(found).toMatchObject({ result: 'ok', message: expect.stringContaining('accepts the client service-rp') })
    expect(found.message).not.toContain(CLIENT_SECRET)
  })

  test.each([
    ['a wrong secret', { SERVICE_OIDC_CLIENT_SECRET: 'wrong' }, 'oidc_invalid_client', 'client_secret'],
    ['a wrong client', { SERVICE_OIDC_CLIENT_ID: 'nobody' }, 'oidc_invalid_client', 'client_id'],
    ['a wrong issuer', { SERVICE_OIDC_ISSUER: '<op>/' }, 'oidc_issuer_differs: expected <op>/, found <op>', 'issuer'],
    ['a wrong realm', { SERVICE_OIDC_ISSUER: '<op>x' }, 'oidc_discovery_status: expected 200, found 404', 'realm'],
    ['a provider that is down', { SERVICE_OIDC_ISSUER: 'http://127.0.0.1:1' }, 'oidc_connect_failed', 'network'],
    ['a private address', { SERVICE_OIDC_ALLOW_PRIVATE_ADDRESSES: 'false' }, 'oidc_blocked_address', 'allow_private'],
  ])('fails for %s, and states what was expected and how to correct it', async (_, variables, said, fix) => {
    const here = (text: string) => text.replaceAll('<op>', op.issuer)
    const set = Object.entries(variables).map(([name, value]) => [name, here(value)])
    expect(await doctor(Object.fromEntries(set))).toMatchObject({
      code: 1,
      result: 'fail',
      message: expect.stringContaining(here(said)),
      fix: expect.stringContaining(fix),
    })
  })
})

describe('the status', () => {
  const providers = async () =>
    (await okAdmin<{ providers: Record<string, unknown>[] }>(service, 'GET', '/admin/system/status')).providers

  test('lists each provider with its issuer and its keys', async () => {
    expect(await providers()).toEqual([
      { slug: 'default', use: 'sign_in', issuer: op.issuer, issuer_found: op.issuer, usable: true, keys: 1 },
      { slug: 'acme', use: 'sign_in', issuer: other.issuer, issuer_found: other.issuer, usable: true, keys: 1 },
    ])
  })

  test('shows why a provider cannot be used, and its last failure with the request', async () => {
    service.advance(31)
    other.away = true
    const { location = '' } = await new Browser().open(`${service.issuer}/oidc/start`)
    expect(location).toContain(op.issuer)
    const browser = new Browser()
    const { location: to = '' } = await browser.open(`${service.issuer}/oidc/start`)
    const state = new URL(to).searchParams.get('state') ?? ''
    await browser.open(`${service.issuer}/oidc/callback?${new URLSearchParams({ error: 'access_denied', state })}`)
    const [first, second] = await providers()
    expect(first).toMatchObject({
      usable: true,
      last_failure: { reason: 'oidc_upstream_access_denied', request_id: expect.stringMatching(/^[\w-]{22}$/) },
    })
    expect(second).toEqual({
      slug: 'acme',
      use: 'sign_in',
      issuer: other.issuer,
      usable: false,
      reason: 'oidc_discovery_status',
    })
    const { request_id = '' } = (first?.['last_failure'] ?? {}) as { request_id?: string }
    const events = await okAdmin<{ action: string }[]>(service, 'GET', `/admin/audit?request_id=${request_id}`)
    expect(events.map(({ action }) => action)).toEqual(['user_oidc_login_failed'])
  })
})
