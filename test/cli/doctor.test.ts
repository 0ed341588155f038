// Findings of doctor about resources and clients, from the metadata of resource servers and the steps of clients.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientFindings } from '../../src/admin/clients/client_findings.ts'
import { okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { aProvider, oauthConfigData } from '../support/records.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface Finding {
  check: string
  result: string
  message: string
}
const findingsOf = async (name: string, variables: Record<string, string> = {}) => {
  const { stdout } = await runHere(['doctor', '--json'], { ...envOf(service), ...variables })
  return (JSON.parse(stdout) as Finding[]).filter(({ check }) => check === name)
}
const findings = (slug: string, variables?: Record<string, string>) => findingsOf(`resource ${slug}`, variables)

describe('registration', () => {
  const found = () => findingsOf('registration', { SERVICE_DCR_MODE: 'admin_only' })

  test('the mode in force is checked, which operators can change at run time', async () => {
    await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'open' })
    expect(await found()).toMatchObject([
      { result: 'warn', message: expect.stringMatching(/^dcr\.mode is open: .*the configuration has admin_only$/) },
    ])
    await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
    expect(await found()).toMatchObject([{ result: 'ok', message: 'dcr.mode is admin_only' }])
  })

  test('the configured mode is checked when no server answers', async () => {
    const none = { SERVICE_SERVER_ADDRESS: '127.0.0.1:1' }
    expect(await findingsOf('registration', { ...none, SERVICE_DCR_MODE: 'open' })).toMatchObject([{ result: 'warn' }])
  })
})

test('what could not be read from the server is a warning, and does not look right', async () => {
  const wrong = { SERVICE_ADMIN_API_KEY: 'a-wrong-key-of-enough-length-0123456789' }
  for (const check of ['resources', 'broker providers', 'clients', 'references'])
    expect(await findingsOf(check, wrong)).toMatchObject([
      { result: 'warn', message: expect.stringContaining('not checked: ') },
    ])
})

describe('a resource', () => {
  test('a resource whose server lists no scopes while scopes are required is a warning with the setting', async () => {
    const server = createServer((_, response) =>
      response.end(
        JSON.stringify({ resource: uri, authorization_servers: [service.issuer], scopes_supported: listed }),
      ),
    ).listen(0)
    const uri = `http://localhost:${(server.address() as AddressInfo).port}/mcp`
    let listed: string[] | undefined
    try {
      const { slug } = await addResource(service, { uri })
      expect(await findings(slug)).toMatchObject([
        { result: 'ok' },
        {
          result: 'warn',
          message: expect.stringContaining('lists no scopes, and oauth.require_scope is on'),
          fix: expect.stringContaining('oauth.require_scope: false'),
        },
      ])
      expect(await findings(slug, { SERVICE_OAUTH_REQUIRE_SCOPE: 'false' })).toMatchObject([{ result: 'ok' }])
      listed = ['mcp:read']
      expect(await findings(slug)).toMatchObject([{ result: 'ok' }])
    } finally {
      server.close()
    }
  })

  test('a resource whose URI no client can send is a warning with the form that clients send', async () => {
    const { slug } = await addResource(service, { uri: 'http://LOCALHOST:1/a/../mcp' })
    expect((await findings(slug)).at(-1)).toMatchObject({
      result: 'warn',
      message: expect.stringContaining('http://localhost:1/mcp'),
      fix: expect.stringContaining(`--slug ${slug}`),
    })
  })
})

describe('records', () => {
  test('that name clients, users and resources which do not exist are warnings with the names and the command', async () => {
    expect(await findingsOf('references')).toMatchObject([{ result: 'ok' }])
    const kept = await addClient(service)
    const policy = {
      exchange: { allowed_client_ids: [kept.client_id, 'gone'] },
      runtime: { client_ids: ['gone', 'lost'] },
    }
    const access = { mode: 'restricted' as const, groups: ['staff'], users: ['u_gone'] }
    const { slug, uri } = await addResource(service, { policy, access })
    expect(await findings(slug)).toMatchObject([
      { check: `resource ${slug}` },
      {
        message: 'policy.exchange.allowed_client_ids names clients that do not exist: gone',
        fix: expect.stringContaining(`policy exchange remove --slug ${slug}`),
      },
      {
        result: 'warn',
        message: 'policy.runtime.client_ids names clients that do not exist: gone, lost',
        fix: expect.stringContaining(`policy runtime remove --slug ${slug}`),
      },
      { message: 'access.users names users that do not exist: u_gone' },
    ])
    const nowhere = { default_resource: 'https://nowhere.example.com' }
    const robot = await addClient(service, { grant_types: ['client_credentials'] }, nowhere)
    expect(await findingsOf(`client ${robot.client_id}`)).toMatchObject([
      { message: 'default_resource names resources that do not exist: https://nowhere.example.com' },
    ])
    const idp = { issuer: 'https://idp.example.com', jwks_uri: 'https://idp.example.com/keys' }
    const { id: idp_id } = await okAdmin<{ id: string }>(service, 'POST', '/admin/idps', idp)
    const named = { idp_id, name: 'all', client_ids: ['gone'], resources: [uri, 'https://nowhere.example.com'] }
    const { id } = await okAdmin<{ id: string }>(service, 'POST', '/admin/xaa/policies', named)
    expect((await findingsOf(`policy ${id}`)).map(({ message }) => message)).toEqual([
      'client_ids names clients that do not exist: gone',
      'resources names resources that do not exist: https://nowhere.example.com',
    ])
    const off = { SERVICE_XAA_ENABLED: 'false' }
    expect([await findingsOf(`policy ${id}`, off), (await findings(slug, off)).length]).toEqual([[], 4])
  })
})

test('a broker provider that cannot be checked is a finding, and the other checks are made', async () => {
  const provider = aProvider({ protocol: 'oauth', config_data: oauthConfigData() })
  const { store } = service.app
  await store.createProvider(provider)
  const { findProvider } = store
  Object.assign(store, { findProvider: () => Promise.reject(new Error('lost')) })
  try {
    expect(await findingsOf(`broker provider ${provider.slug}`)).toMatchObject([
      { result: 'fail', fix: 'see the log of the server' },
    ])
    expect(await findingsOf('registration')).toHaveLength(1)
  } finally {
    Object.assign(store, { findProvider })
  }
})

describe('the steps of a client', () => {
  const step = (reason?: string, name = 'authorize') => ({ step: name, detail: `detail of ${reason}`, reason })

  test.each([
    ['missing_scope', 'oauth.require_scope: false'],
    ['root_slash', 'oauth.match_root_slash: true'],
    ['no_resource_named', '--id c_1 --default-resource'],
  ])('that end with %s cause one warning for each client, with the setting to change', (reason, fix) => {
    const trail = { client_id: 'c_1', steps: [step(), step(reason)] }
    expect(clientFindings([trail, trail])).toEqual([
      { check: 'client c_1', result: 'warn', message: `detail of ${reason}`, fix: expect.stringContaining(fix) },
    ])
  })

  test('client steps that succeeded later, or failed for another reason, are not reported', () => {
    const steps = [step('missing_scope'), step(), step('pkce_mismatch', 'token')]
    expect(clientFindings([{ client_id: 'c_1', steps }])).toEqual([])
  })
})

test('the limit on all requests is named, and its default is a warning in production', async () => {
  const found = (more: Record<string, string>) =>
    findingsOf('request limit', { SERVICE_RATE_LIMIT_ENABLED: 'true', ...more })
  const production = {
    SERVICE_SERVER_ISSUER: 'https://auth.example.com',
    SERVICE_SESSION_SECURE: 'true',
    SERVICE_SESSION_SECRET: 'Wq7-session-secret-of-the-whole-site-0123456789',
    SERVICE_ADMIN_API_KEY: 'hT4v9QmZ2xLr8KcW5nYb3PdF7sGj6UeA',
  }
  const message = expect.stringContaining('rate_limit.requests_per_second is 100 for all callers together')
  expect(await found({})).toMatchObject([{ result: 'ok', message }])
  expect(await found(production)).toMatchObject([{ result: 'warn', message }])
  expect(await found({ ...production, SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '2000' })).toMatchObject([
    { result: 'ok' },
  ])
})
