// oauth.match_root_slash: a resource URI without a path, with and without a trailing slash.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import type { Browser } from '../support/browser.ts'
import { ask, signedIn } from '../support/documents.ts'
import { addExchanger, exchange } from '../support/exchange.ts'
import { authorize, claimsOf, machineToken, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, xaaScene } from '../support/xaa.ts'

const forms = (host: string): [string, string][] => [
  [`https://a-${host}`, `https://a-${host}/`],
  [`https://b-${host}/`, `https://b-${host}`],
]

describe('with oauth.match_root_slash', () => {
  let service: TestService
  let user: Awaited<ReturnType<typeof addUser>>
  let browser: Browser
  beforeAll(async () => {
    service = await startService({ SERVICE_OAUTH_MATCH_ROOT_SLASH: 'true', ...LOOPBACK })
    user = await addUser(service)
    browser = await signedIn(service, user)
  })
  afterAll(() => service.close())

  test('a URI without a path names the resource with and without a slash at every grant; aud is the registered form', async () => {
    for (const [uri, asked] of forms('grants.example.com')) {
      await addResource(service, { uri })
      const client = await addExchanger(service)
      const authorized = await authorize(service, client, user, { resource: asked }, browser)
      const first = await redeem(service, client, authorized, { resource: asked })
      const again = await refresh(service, client, first.body['refresh_token'], { resource: asked })
      const own = await machineToken(service, client, { resource: asked })
      const exchanged = await exchange(service, client, {
        subject_token: again.body['access_token'],
        resource: asked,
        audience: uri,
      })
      for (const answer of [first, again, own, exchanged]) expect(claimsOf(answer).aud).toEqual([uri])
    }
  })

  test('an assertion and a policy may name either form', async () => {
    const [[uri, other]] = forms('assertions.example.com') as [[string, string]]
    await addResource(service, { uri })
    const scene = await xaaScene(service, { policies: [{ resources: [other] }] })
    const assertion = await scene.assertion({ claims: { resource: other } })
    expect(claimsOf(await scene.redeem(assertion, { resource: uri })).aud).toEqual([uri])
  })

  test('the other form of a registered URI cannot be registered, and no resource can be changed to it', async () => {
    for (const [uri, other] of forms('twins.example.com')) {
      const { id } = await addResource(service, { uri })
      const twin = {
        slug: `twin-${id
          .slice(2, 8)
          .toLowerCase()
          .replaceAll(/[^a-z0-9]/g, 'x')}`,
        backend_kind: 'mint',
      }
      expect((await callAdmin(service, 'POST', '/admin/resources', { ...twin, uri: other })).status).toBe(409)
      const elsewhere = await addResource(service)
      expect((await callAdmin(service, 'PATCH', `/admin/resources/${elsewhere.id}`, { uri: other })).status).toBe(409)
      expect(await okAdmin(service, 'PATCH', `/admin/resources/${id}`, { uri: other })).toMatchObject({ uri: other })
    }
  })

  test('A33 other differences count: paths, queries, ports, schemes and hosts', async () => {
    await addResource(service, { uri: 'https://strict.example.com' })
    await addResource(service, { uri: 'https://strict.example.com/mcp' })
    const client = await addClient(service)
    for (const resource of [
      'https://strict.example.com//',
      'https://strict.example.com/mcp/',
      'https://strict.example.com/?x',
      'https://strict.example.com?',
      'https://strict.example.com/#',
      'https://strict.example.com:443/',
      'http://strict.example.com/',
      'https://strict.example.com./',
      'https://STRICT.example.com/',
    ])
      expect((await machineToken(service, client, { resource })).body['error'], resource).toBe('invalid_target')
  })
})

describe('without oauth.match_root_slash', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service.close())

  test('the other form is another resource, and the error and the client activity name the setting', async () => {
    const client = await addClient(service)
    for (const [uri, other] of forms('strict.example.com')) {
      await addResource(service, { uri })
      const detail = `the resource is not known: ${other}; ${uri} is registered; oauth.match_root_slash accepts both`
      expect((await machineToken(service, client, { resource: other })).body).toMatchObject({
        error: 'invalid_target',
        error_description: detail,
      })
      await ask(service, await signedIn(service, await addUser(service)), {
        client_id: client.client_id,
        resource: other,
      })
      const trail = service.app.activity.list().find(({ client_id }) => client_id === client.client_id)
      expect(trail?.steps.at(-1)).toMatchObject({ step: 'authorize', reason: 'root_slash', detail })
    }
  })

  test('both forms can be registered, and each names its own resource', async () => {
    const client = await addClient(service)
    for (const uri of ['https://both.example.com', 'https://both.example.com/']) {
      await addResource(service, { uri })
      expect(claimsOf(await machineToken(service, client, { resource: uri })).aud).toEqual([uri])
    }
  })
})
