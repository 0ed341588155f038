// Section I of the attack list: what a client from a document stores, and who controls it.
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { callAdmin, eventsOf, metricOf, okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { ask, DocumentServer, forgetDocuments, LOCAL_DOCUMENTS, signedIn } from '../support/documents.ts'
import { authorize, authorizeUrl, decide, redeem, refresh } from '../support/flow.ts'
import { addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
let documents: DocumentServer
let user: Awaited<ReturnType<typeof addUser>>
let resource: string
let browser: Browser
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService(LOCAL_DOCUMENTS)
  user = await addUser(service)
  resource = (await addResource(service)).uri
  browser = await signedIn(service, user)
})
afterAll(async () => {
  documents.close()
  await service.close()
})
beforeEach(() => forgetDocuments(service))

const find = (client_id: string) => service.app.store.findClient({ client_id })
const pathOf = (client_id: string) => `/admin/clients/${encodeURIComponent(client_id)}`
const NO_STORE = { headers: { 'cache-control': 'no-store' } }
const consentPage = async (client_id: string) => {
  const page = await browser.follow(authorizeUrl(service, { client_id, resource }))
  expect(page.text).toContain('value="allow"')
  return page
}
const rows = async () => (await okAdmin<object[]>(service, 'GET', '/admin/clients?source=cimd&limit=1000')).length

describe('I26 a document is stored when a user consents to its client', () => {
  test('requests without a session, and consents that were denied or abandoned, store nothing', async () => {
    for (let i = 0; i < 40; i++) {
      const url = authorizeUrl(service, { client_id: documents.publish(`/anonymous/${i}`), resource })
      expect((await new Browser().follow(url)).text).toContain('type="password"')
    }
    await consentPage(documents.publish('/left'))
    const denied = await decide(service, browser, await consentPage(documents.publish('/denied')), 'deny')
    expect(denied.location).toContain('error=access_denied')
    expect([await rows(), await metricOf(service, 'core_clients_registered_total{source="cimd"}')]).toEqual([0, 0])
  })

  test('the document that the user saw is stored, at the instance of the decision, and recorded in the audit trail', async () => {
    const client_id = documents.publish('/decided', { client_name: 'As shown' })
    const page = await consentPage(client_id)
    expect(await find(client_id)).toBeUndefined()
    // The other instance has fetched nothing, and cannot fetch.
    await forgetDocuments(service)
    documents.publish('/decided', { client_name: 'Another name' }, { status: 500 })
    const count = documents.count('/decided')
    const again = await browser.open(
      `${service.issuer}/consent?session_id=${/name="session_id" value="(.*?)"/.exec(page.text)?.[1]}`,
    )
    expect(again.text).toContain('As shown')
    expect((await decide(service, browser, page, 'allow')).location).toContain('code=')
    expect(documents.count('/decided')).toBe(count)
    expect(await find(client_id)).toMatchObject({ client_name: 'As shown', version: 1, registration_source: 'cimd' })
    const event = (await eventsOf(service, 'client_registered')).find((each) => each.client_id === client_id)
    expect(event).toMatchObject({ actor_id: user.id, detail: { client_name: 'As shown' } })
    expect(await metricOf(service, 'core_clients_registered_total{source="cimd"}')).toBe(1)
  })

  test('a client row that was deleted while its consent remained is stored again', async () => {
    const client_id = documents.publish('/again')
    await authorize(service, { client_id }, user, { resource }, browser)
    // Thirty days later the consent still exists.
    expect(await service.app.store.reapClients({ before: service.app.clock.now(), limit: 1000 })).toBeGreaterThan(0)
    expect(await find(client_id)).toBeUndefined()
    const authorized = await authorize(service, { client_id }, user, { resource }, browser)
    expect((await redeem(service, { client_id }, authorized, { resource })).status).toBe(200)
  })

  test('purge --only unused-clients deletes documents that were never used, and keeps those that are used or suspended', async () => {
    const [unused, used, suspended] = ['/unused', '/used', '/shut-out'].map((path) => documents.publish(path)) as [
      string,
      string,
      string,
    ]
    for (const client_id of [unused, used, suspended]) {
      const authorized = await authorize(service, { client_id }, user, { resource }, browser)
      if (client_id === used) expect((await redeem(service, { client_id }, authorized, { resource })).status).toBe(200)
    }
    await okAdmin(service, 'PATCH', `${pathOf(suspended)}/suspend`)
    const before = service.app.clock.now()
    await service.app.store.reapClients({ before, limit: 1000 })
    expect([await find(unused), (await find(used))?.client_id, (await find(suspended))?.status]).toEqual([
      undefined,
      used,
      'suspended',
    ])
  })

  test('an operator can have a document fetched and stored before any consent, in every mode', async () => {
    const client_id = documents.publish('/by-operator')
    await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
    try {
      expect(await okAdmin(service, 'POST', `${pathOf(client_id)}/fetch-document`)).toMatchObject({
        document: { client_id },
      })
      expect((await ask(service, browser, { client_id, resource })).location).toContain('/consent?')
    } finally {
      await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'open' })
    }
    expect((await eventsOf(service, 'client_registered'))[0]).toMatchObject({ client_id, actor_id: 'admin' })
    const broken = documents.publish('/by-operator-broken', { redirect_uris: [] })
    expect(await okAdmin(service, 'POST', `${pathOf(broken)}/fetch-document`)).toHaveProperty('problem')
    expect(await find(broken)).toBeUndefined()
    expect((await callAdmin(service, 'POST', '/admin/clients/c_none/fetch-document')).status).toBe(404)
  })
})

test('I27 a changed document is updated and audited, and repeated changes cannot fill the audit trail', async () => {
  const client_id = documents.publish('/restless', {}, NO_STORE)
  await authorize(service, { client_id }, user, { resource }, browser)
  let refused = 0
  for (let i = 0; i < 30; i++) {
    documents.publish('/restless', { client_name: `Name ${i}` }, NO_STORE)
    const { status } = await new Browser().open(authorizeUrl(service, { client_id, resource }))
    if (status === 429) refused++
  }
  const changes = (await eventsOf(service, 'client_document_changed')).filter((each) => each.client_id === client_id)
  expect(changes.at(-1)).toMatchObject({
    actor_id: client_id,
    detail: { fields: ['client_name'], client_name: 'Name 0' },
  })
  expect(changes.length).toBeGreaterThanOrEqual(10)
  expect(changes.length).toBeLessThanOrEqual(11)
  expect(refused).toBeGreaterThanOrEqual(19)
})

describe('I28 limits that an operator set for a document client persist', () => {
  const second = 'https://other.example.com/callback'
  const patch = (client_id: string, body: object) => okAdmin(service, 'PATCH', pathOf(client_id), body)
  const publish = (path: string, members: object) => documents.publish(path, { ...members }, NO_STORE)
  const outcomeOf = async (client_id: string, fields: Record<string, string> = {}) => {
    const page = await ask(service, browser, { client_id, resource, prompt: 'consent', ...fields })
    return page.location?.includes('/consent?') ? 'consent' : (page.location ?? page.text)
  }

  test('scope, grant types, redirect URIs and name stay limited when the document changes', async () => {
    const both = { redirect_uris: [REDIRECT_URI, second], scope: 'mcp:read mcp:write' }
    const client_id = publish('/limited', both)
    await authorize(service, { client_id }, user, { resource, redirect_uri: REDIRECT_URI }, browser)
    const limits = {
      scope: 'mcp:read',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code'],
      client_name: 'Checked',
    }
    expect(await patch(client_id, limits)).toMatchObject({ ...limits, operator_set: limits })
    publish('/limited', { ...both, client_name: 'Another', scope: 'mcp:read mcp:write more', agent_description: 'x' })
    expect(await outcomeOf(client_id)).toBe('consent')
    expect(await find(client_id)).toMatchObject(limits)
    expect(await outcomeOf(client_id, { scope: 'mcp:write' })).toContain('error=invalid_scope')
    expect(await outcomeOf(client_id, { redirect_uri: second })).toContain('not registered')
    // Values that the document removes are removed here too, and the limits never add any.
    publish('/limited', { redirect_uris: [second], scope: 'mcp:write' })
    expect(await outcomeOf(client_id, { redirect_uri: second })).toContain('not registered')
    expect(await outcomeOf(client_id)).toContain('not registered')
    expect(await find(client_id)).toMatchObject({ redirect_uris: [], scope: 'mcp:read' })
    publish('/limited', both)
    expect(await outcomeOf(client_id)).toBe('consent')
    expect(await find(client_id)).toMatchObject(limits)
  })

  test('a limit that is widened or removed makes the values of the document valid again, without a fetch', async () => {
    const client_id = documents.publish('/widened', { scope: 'mcp:read mcp:write' })
    await authorize(service, { client_id }, user, { resource }, browser)
    await patch(client_id, { scope: 'mcp:read' })
    const count = documents.count('/widened')
    expect(await patch(client_id, { scope: 'mcp:read mcp:write else' })).toMatchObject({ scope: 'mcp:read mcp:write' })
    expect(await patch(client_id, { scope: 'mcp:write' })).toMatchObject({ scope: 'mcp:write' })
    expect(await patch(client_id, { scope: '' })).toMatchObject({ scope: 'mcp:read mcp:write' })
    expect(documents.count('/widened')).toBe(count)
  })

  test('a limit that equals the current document is stored and audited', async () => {
    const client_id = publish('/same', { scope: 'mcp:read' })
    await authorize(service, { client_id }, user, { resource }, browser)
    await patch(client_id, { scope: 'mcp:read' })
    expect((await eventsOf(service, 'client_updated'))[0]).toMatchObject({ client_id, detail: { fields: ['scope'] } })
    publish('/same', { scope: 'mcp:read mcp:write' })
    expect(await outcomeOf(client_id, { scope: 'mcp:write' })).toContain('error=invalid_scope')
  })

  test('DPoP, the agent description and the status are set only by operators; purge keeps the client', async () => {
    const client_id = publish('/bound', {})
    await authorize(service, { client_id }, user, { resource }, browser)
    await patch(client_id, { dpop_bound_access_tokens: true, agent_description: 'Checked' })
    publish('/bound', { client_name: 'Another', dpop_bound_access_tokens: false, agent_description: 'x', status: 'x' })
    expect(await outcomeOf(client_id)).toBe('consent')
    await service.app.store.reapClients({ before: service.app.clock.now(), limit: 1000 })
    expect(await find(client_id)).toMatchObject({
      client_name: 'Another',
      dpop_bound_access_tokens: true,
      agent_description: 'Checked',
    })
  })
})

test('I29 a consent is for the displayed hosts: a redirect URI on a new host asks again for each scope', async () => {
  const [first, second] = ['https://first.example.com/cb', 'https://second.example.com/cb']
  const both = 'mcp:read mcp:write'
  const client_id = documents.publish('/moving', { redirect_uris: [first] }, NO_STORE)
  const at = async (redirect_uri: string, scope: string) => {
    const page = await ask(service, browser, { client_id, resource, redirect_uri, scope })
    return page.location?.startsWith(`${redirect_uri}?code=`) ? 'code' : page.location?.includes('/consent?') && 'asked'
  }
  const allow = (redirect_uri: string, scope: string) =>
    authorize(service, { client_id }, user, { resource, redirect_uri, scope }, browser)
  await allow(first, both)
  expect([await at(first, both), await at(first, 'mcp:read')]).toEqual(['code', 'code'])
  documents.publish('/moving', { redirect_uris: [first, second, `${first}/other`] }, NO_STORE)
  expect(await at(second, 'mcp:read')).toBe('asked')
  expect(await at(`${first}/other`, both)).toBe('code')
  await allow(second, 'mcp:read')
  expect([await at(second, 'mcp:read'), await at(second, both), await at(first, both)]).toEqual([
    'code',
    'asked',
    'code',
  ])
  // A scope that was withdrawn for one host is withdrawn for the other host.
  const page = await browser.follow(
    authorizeUrl(service, { client_id, resource, redirect_uri: second, scope: both, prompt: 'consent' }),
  )
  await decide(service, browser, page, 'allow', ['mcp:write'])
  expect([await at(first, 'mcp:read'), await at(first, 'mcp:write')]).toEqual(['asked', 'code'])
  const { redirect_hosts = {} } =
    (await service.app.store.listConsents({ user_id: user.id })).find((each) => each.client_id === client_id) ?? {}
  expect(Object.keys(redirect_hosts).sort()).toEqual(['first.example.com', 'second.example.com'])
})

test('I36 a host that fails in another way each time causes one write for each fetch, and no audit event', async () => {
  const client_id = documents.publish('/failing', {}, NO_STORE)
  await authorize(service, { client_id }, user, { resource }, browser)
  const before = await find(client_id)
  const events = async () => (await eventsOf(service, 'client_document_changed')).length
  const known = await events()
  let notes = 0
  const noted = vi.spyOn(service.app.store, 'noteDocument')
  try {
    for (let i = 0; i < 10; i++) {
      const redirect_uris = Array.from({ length: 20 }, (_, at) => `javascript:${'x'.repeat(1000)}${i}${at}`)
      documents.publish('/failing', i % 2 ? { redirect_uris } : {}, i % 2 ? {} : { status: 420 + i })
      const count = documents.count('/failing')
      for (let j = 0; j < 5; j++)
        expect((await ask(service, browser, { client_id, resource, prompt: 'consent' })).location).toContain(
          '/consent?',
        )
      expect(documents.count('/failing')).toBe(count + 1)
      service.advance(31)
    }
    notes = noted.mock.calls.length
  } finally {
    noted.mockRestore()
  }
  const after = await find(client_id)
  expect([notes, await events(), after?.version]).toEqual([10, known, before?.version])
  expect(after?.document_error?.length).toBeLessThan(1024)
})

test('I37 a document that is gone stays gone while its host fails in other ways, and its client gets no tokens', async () => {
  const client_id = documents.publish('/ended', {}, NO_STORE)
  const authorized = await authorize(service, { client_id }, user, { resource }, browser)
  const granted = await redeem(service, { client_id }, authorized, { resource })
  const status = async () => (await ask(service, browser, { client_id, resource, prompt: 'consent' })).status
  for (const how of [{ status: 410 }, { status: 500 }, { type: 'text/html' }]) {
    documents.publish('/ended', {}, how)
    expect([how, await status()]).toEqual([how, 400])
    const refused = await refresh(service, { client_id }, granted.body['refresh_token'])
    expect([refused.status, refused.body['error']]).toEqual([401, 'invalid_client'])
    service.advance(31)
  }
  documents.publish('/ended', {}, NO_STORE)
  expect(await status()).toBe(303)
})

describe('I38 a document that an operator keeps', () => {
  const keep = (where: TestService, client_id: string) =>
    callAdmin(where, 'POST', '/admin/clients', {
      client_id,
      document: { client_id, client_name: 'Kept', redirect_uris: [REDIRECT_URI] },
    })

  test('is not accepted for a private address that no list allows', async () => {
    const strict = await startService({ SERVICE_CIMD_ALLOW_HOSTS: '10.0.0.7' })
    try {
      const hosts = [
        '127.0.0.1',
        '[::1]',
        'localhost',
        'a.localhost',
        '10.0.0.8',
        '169.254.169.254',
        '[fd00::1]',
        '10.0.0.7',
      ]
      const statuses = await Promise.all(
        hosts.map(async (host) => (await keep(strict, `https://${host}/c.json`)).status),
      )
      expect(statuses).toEqual([400, 400, 400, 400, 400, 400, 400, 201])
      expect((await keep(strict, 'http://client.example.com/c.json')).status).toBe(400)
    } finally {
      await strict.close()
    }
  })

  test('is not replaced by a fetch that was running when the operator kept it', async () => {
    let answer = () => {}
    const client_id = documents.publish('/slow', {}, NO_STORE)
    await authorize(service, { client_id }, user, { resource }, browser)
    const document = { client_id, client_name: 'Published', redirect_uris: ['https://evil.example/cb'] }
    documents.publish(
      '/slow',
      {},
      {
        answer: (_, response) => {
          answer = () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
        },
      },
    )
    const asked = ask(service, browser, { client_id, resource, prompt: 'consent' })
    while (documents.count('/slow') < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    const kept = { client_id, client_name: 'Kept', redirect_uris: [REDIRECT_URI] }
    await okAdmin(service, 'PATCH', pathOf(client_id), { document: kept })
    answer()
    await asked
    expect(await find(client_id)).toMatchObject({ ...kept, document_source: 'stored' })
  })
})
