// Documents of clients that an operator keeps, has fetched, or that cannot be fetched any more.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { callAdmin, eventsOf, metricOf, okAdmin } from '../support/admin.ts'
import type { Browser } from '../support/browser.ts'
import { ask, DocumentServer, forgetDocuments, LOCAL_DOCUMENTS, refusalIn, signedIn } from '../support/documents.ts'
import { authorize, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

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

type Members = Record<string, unknown>
interface Shown extends Members {
  document_source?: string
  document_fetched_at?: string
  document_error?: string | null
}

const SECOND = 'https://client.example.com/second'
let made = 0
/** A path that no document has. */
const newPath = (): string => `/kept/${++made}`
const documentOf = (client_id: string, changes: Members = {}): Members => ({
  client_id,
  client_name: 'Kept',
  redirect_uris: [REDIRECT_URI],
  ...changes,
})
const pathOf = (client_id: string) => `/admin/clients/${encodeURIComponent(client_id)}`
const create = (client_id: string, document?: Members) =>
  callAdmin<Members>(service, 'POST', '/admin/clients', { client_id, ...(document ? { document } : {}) })
const shown = (client_id: string) => okAdmin<Shown>(service, 'GET', pathOf(client_id))
const refreshed = (client_id: string, body?: Members) =>
  callAdmin<Members>(service, 'POST', `${pathOf(client_id)}/refresh-document`, body)
/** A client of which the operator keeps the document. */
async function keep(client_id: string, changes: Members = {}): Promise<string> {
  expect((await create(client_id, documentOf(client_id, changes))).status).toBe(201)
  return client_id
}
/** Whether the consent page is shown, or the refusal. */
async function outcome(client_id: string, fields: Record<string, string> = {}): Promise<string> {
  const page = await ask(service, browser, { client_id, resource, prompt: 'consent', ...fields })
  return page.location?.includes('/consent?') ? 'consent' : refusalIn(page)
}
const consent = (client_id: string) => authorize(service, { client_id }, user, { resource }, browser)

describe('a document that an operator keeps', () => {
  test('is stored with the client, is never fetched, and the client signs users in and refreshes', async () => {
    const before = documents.connections
    const client_id = `${documents.origin}${newPath()}`
    const { status, body } = await create(client_id, documentOf(client_id))
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({
        client_id,
        client_name: 'Kept',
        registration_source: 'cimd',
        document_source: 'stored',
        document_error: null,
      }),
    ])
    expect(body).not.toHaveProperty('document_fetched_at')
    // The client alone has it, and no list.
    expect((await shown(client_id))['document']).toEqual(documentOf(client_id))
    const named = `q=${encodeURIComponent(client_id)}`
    const [listed] = await okAdmin<Shown[]>(service, 'GET', `/admin/clients?${named}`)
    const { matches } = await okAdmin<{ matches: Shown[] }>(
      service,
      'GET',
      `/admin/find?${named.replace('q', 'query')}`,
    )
    for (const each of [listed, ...matches]) {
      expect(each).toMatchObject({ client_id, document_source: 'stored' })
      expect(each).not.toHaveProperty('document')
    }
    const granted = await redeem(service, { client_id }, await consent(client_id), { resource })
    service.advance(4000)
    expect(await outcome(client_id)).toBe('consent')
    expect((await refresh(service, { client_id }, granted.body['refresh_token'])).status).toBe(200)
    expect(documents.connections).toBe(before)
    const [event] = await eventsOf(service, 'client_created')
    expect(event).toMatchObject({ client_id, actor_id: 'admin', detail: { client_name: 'Kept' } })
  })

  test('needs no DNS name that exists, and is not purged', async () => {
    const client_id = await keep(`https://nowhere.invalid${newPath()}`)
    expect(await service.app.store.reapClients({ before: service.app.clock.now(), limit: 1000 })).toBe(0)
    expect(await outcome(client_id)).toBe('consent')
  })

  test('is accepted whatever the registration mode is', async () => {
    await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'admin_only' })
    try {
      expect(await outcome(await keep(`https://nowhere.invalid${newPath()}`))).toBe('consent')
    } finally {
      await okAdmin(service, 'PATCH', '/admin/settings/dcr', { mode: 'open' })
    }
  })

  test.each<[string, Members, string]>([
    ['another client_id', { client_id: 'https://nowhere.invalid/other' }, 'cimd_client_id'],
    ['no name', { client_name: undefined }, 'client_name is required'],
    ['no redirect URI', { redirect_uris: [] }, 'cimd_document'],
    ['an unsafe redirect URI', { redirect_uris: ['http://client.example.com/cb'] }, 'cimd_document'],
    ['a secret', { client_secret: 'x' }, 'cimd_document'],
    ['client_secret_basic', { token_endpoint_auth_method: 'client_secret_basic' }, 'cimd_auth_method'],
    ['machine grants', { grant_types: ['client_credentials'] }, 'cimd_grant_types'],
    ['a record that is too large', { redirect_uris: Array(9).fill(`${REDIRECT_URI}?${'a'.repeat(1000)}`) }, 'bytes'],
  ])('is refused as if it were fetched: %s', async (_what, changes, said) => {
    const client_id = `https://nowhere.invalid${newPath()}`
    const { status, body } = await create(client_id, documentOf(client_id, changes))
    expect([status, body['error'], body['error_description']]).toEqual([
      400,
      'invalid_request',
      expect.stringContaining(said),
    ])
    expect(await service.app.store.findClient({ client_id })).toBeUndefined()
  })

  test.each([
    'https://nowhere.invalid',
    'https://nowhere.invalid/..',
    'https://nowhere.invalid/a#b',
    'https://u:p@nowhere.invalid/a',
    'https://NOWHERE.invalid/a',
  ])('has a URL by the rules for all document clients: %s', async (client_id) => {
    for (const document of [documentOf(client_id), undefined])
      expect((await create(client_id, document)).status).toBe(400)
  })

  test('is only for a client_id that is a URL, and decides the other members', async () => {
    const document = documentOf('https://nowhere.invalid/a')
    const { client_id } = await addClient(service)
    for (const body of [
      { client_name: 'X', redirect_uris: [REDIRECT_URI], document },
      { client_id: 'x', client_name: 'X', redirect_uris: [REDIRECT_URI], document },
    ])
      expect((await callAdmin(service, 'POST', '/admin/clients', body)).status).toBe(400)
    expect((await callAdmin(service, 'PATCH', pathOf(client_id), { document })).status).toBe(400)
    const more = { client_id: 'https://nowhere.invalid/a', document, client_name: 'X', grant_types: ['refresh_token'] }
    const { status, body } = await callAdmin<Members>(service, 'POST', '/admin/clients', more)
    expect([status, body['error_description']]).toEqual([400, expect.stringContaining('client_name, grant_types: ')])
    expect((await callAdmin(service, 'POST', '/admin/clients', { redirect_uris: [REDIRECT_URI] })).body).toMatchObject({
      error_description: 'client_name is required',
    })
    expect((await shown(client_id)).document_source).toBeUndefined()
  })

  test('is replaced by PATCH at once, within the limits of the operator; an invalid one changes nothing', async () => {
    const client_id = await keep(`https://nowhere.invalid${newPath()}`, { scope: 'mcp:read mcp:write' })
    const patch = (body: Members) => callAdmin<Shown>(service, 'PATCH', pathOf(client_id), body)
    await patch({ scope: 'mcp:read' })
    expect((await patch({ document: documentOf(client_id, { redirect_uris: [] }) })).status).toBe(400)
    expect(await outcome(client_id)).toBe('consent')
    const second = documentOf(client_id, { client_name: 'Second', redirect_uris: [SECOND], scope: 'mcp:read x' })
    expect((await patch({ document: second })).body).toMatchObject({
      client_name: 'Second',
      redirect_uris: [SECOND],
      scope: 'mcp:read',
      document_source: 'stored',
    })
    const [event] = await eventsOf(service, 'client_updated')
    expect(event).toMatchObject({ client_id, detail: { fields: ['client_name', 'redirect_uris', 'scope'] } })
    expect(await outcome(client_id, { redirect_uri: SECOND })).toBe('consent')
    expect(await outcome(client_id)).toContain('not registered')
  })

  test('can take the place of one that was fetched, also of one that is gone', async () => {
    const path = newPath()
    const client_id = documents.publish(path)
    await consent(client_id)
    service.advance(3601)
    documents.publish(path, {}, { status: 404 })
    expect(await outcome(client_id)).toContain('status 404')
    const document = documentOf(client_id, { client_name: 'Desk' })
    expect(await okAdmin(service, 'PATCH', pathOf(client_id), { document })).toMatchObject({
      document_source: 'stored',
      document_error: null,
    })
    expect((await eventsOf(service, 'client_updated'))[0]?.detail).toEqual({
      fields: ['document_source'],
      changes: [{ field: 'document_source', before: 'fetched', after: 'stored' }],
    })
    const count = documents.count(path)
    expect(await outcome(client_id)).toBe('consent')
    expect(documents.count(path)).toBe(count)
  })
})

describe('a document that an operator has fetched', () => {
  test('a client made without a document is that of its URL, which is fetched once', async () => {
    const path = newPath()
    const client_id = documents.publish(path, { client_name: 'Fetched' })
    const before = service.app.clock.now()
    const { status, body } = await create(client_id)
    expect([status, body['client_name'], body['document_source'], documents.count(path)]).toEqual([
      201,
      'Fetched',
      'fetched',
      1,
    ])
    const fetched = Date.parse(String(body['document_fetched_at'])) / 1000
    expect(fetched).toBeGreaterThanOrEqual(before)
    expect(fetched).toBeLessThanOrEqual(service.app.clock.now())
    expect(await outcome(client_id)).toBe('consent')
    const again = await create(client_id)
    expect([again.status, (await create(client_id, documentOf(client_id))).status, documents.count(path)]).toEqual([
      409, 409, 2,
    ])
  })

  test.each<[string, Members, { status?: number; type?: string }]>([
    ['500', {}, { status: 500 }],
    ['404', {}, { status: 404 }],
    ['HTML', {}, { type: 'text/html' }],
    ['an invalid document', { redirect_uris: [] }, {}],
  ])('a host that sends %s makes no client, and a refresh changes nothing', async (_what, members, how) => {
    const path = newPath()
    const client_id = documents.publish(path, members, how)
    const { status, body } = await create(client_id)
    expect([status, body['error'], documents.count(path)]).toEqual([400, 'invalid_request', 1])
    expect(body['error_description']).toMatch(/\(cimd_\w+\)$/)
    expect(await service.app.store.findClient({ client_id })).toBeUndefined()
    await keep(client_id)
    const before = await service.app.store.findClient({ client_id })
    expect((await refreshed(client_id)).status).toBe(400)
    expect(await service.app.store.findClient({ client_id })).toEqual(before)
  })

  test('refresh-document shows what changed and takes it; a document that is kept stays kept', async () => {
    const path = newPath()
    const client_id = documents.publish(path, { client_name: 'Kept', redirect_uris: [SECOND] })
    await keep(client_id)
    const events = () => eventsOf(service, 'client_document_refreshed')
    const known = (await events()).length
    expect((await refreshed(client_id, { dry_run: true })).body).toEqual({ dry_run: true, changed: ['redirect_uris'] })
    expect([await outcome(client_id), documents.count(path), (await events()).length]).toEqual(['consent', 1, known])
    const askedAt = service.app.clock.now()
    expect((await refreshed(client_id)).body).toEqual({ dry_run: false, changed: ['redirect_uris'] })
    const taken = await shown(client_id)
    expect(taken).toMatchObject({ redirect_uris: [SECOND], document_source: 'stored' })
    const fetchedAt = Date.parse(String(taken['document_fetched_at'])) / 1000
    expect(fetchedAt).toBeGreaterThanOrEqual(askedAt)
    expect(fetchedAt).toBeLessThanOrEqual(service.app.clock.now())
    expect((await events())[0]).toMatchObject({
      client_id,
      actor_id: 'admin',
      detail: { fields: ['redirect_uris'], client_name: 'Kept', redirect_uris: [SECOND] },
    })
    expect([await outcome(client_id, { redirect_uri: SECOND }), documents.count(path)]).toEqual(['consent', 2])
    expect([(await refreshed(client_id, {})).body['changed'], documents.count(path)]).toEqual([[], 3])
    expect((await events()).length).toBe(known + 1)
  })

  test('refresh-document of a fetched client uses the document before its copy has expired', async () => {
    const path = newPath()
    const client_id = documents.publish(path)
    await consent(client_id)
    documents.publish(path, { client_name: 'Renamed' })
    expect((await refreshed(client_id)).body['changed']).toEqual(['client_name'])
    expect(await outcome(client_id)).toBe('consent')
    expect(await shown(client_id)).toMatchObject({ client_name: 'Renamed', document_source: 'fetched' })
  })

  test('only clients with a document have one to refresh, and fetch-document is not for one that is kept', async () => {
    const { client_id } = await addClient(service)
    expect((await refreshed(client_id)).status).toBe(400)
    expect((await refreshed('c_none')).status).toBe(404)
    const kept = await keep(documents.publish(newPath()))
    const { status, body } = await callAdmin<Members>(service, 'POST', `${pathOf(kept)}/fetch-document`)
    expect([status, body['error_description']]).toEqual([400, expect.stringContaining('refresh-document')])
  })
})

describe('a document whose host fails', () => {
  test('the client continues, shows the error, is counted and listed, until the document is back', async () => {
    const path = newPath()
    const client_id = documents.publish(path)
    const granted = await redeem(service, { client_id }, await consent(client_id), { resource })
    const { document_fetched_at } = await shown(client_id)
    const stale = await service.app.store.countStaleDocuments()
    service.advance(3601)
    documents.publish(path, {}, { status: 403 })
    expect(await outcome(client_id)).toBe('consent')
    expect(await shown(client_id)).toMatchObject({
      document_source: 'fetched',
      document_error: 'the client document answers with status 403 (cimd_status)',
      document_fetched_at,
    })
    expect((await refresh(service, { client_id }, granted.body['refresh_token'])).status).toBe(200)
    expect(await service.app.store.countStaleDocuments()).toBe(stale + 1)
    expect(await metricOf(service, 'ext_cimd_stale_clients')).toBeGreaterThanOrEqual(0)
    const { findings } = await okAdmin<{ findings: Members[] }>(service, 'GET', '/admin/system/doctor')
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'document', result: 'warn', message: expect.stringContaining(client_id) }),
    )
    documents.publish(path)
    service.advance(31)
    expect(await outcome(client_id)).toBe('consent')
    expect((await shown(client_id)).document_error).toBeNull()
    expect(await service.app.store.countStaleDocuments()).toBe(stale)
  })

  test('the last good copy outlives a restart, and so does the end of a client', async () => {
    const [continued, gone] = [newPath(), newPath()]
    const ids = [documents.publish(continued), documents.publish(gone)] as const
    for (const client_id of ids) await consent(client_id)
    service.advance(3601)
    documents.publish(continued, {}, { status: 500 })
    documents.publish(gone, {}, { status: 410 })
    expect(await outcome(ids[1])).toBe('400 invalid_client: the client document answers with status 410')
    // A new process has no copies in memory.
    await forgetDocuments(service)
    documents.publish(gone, {}, { status: 500 })
    expect(await outcome(ids[0])).toBe('consent')
    expect(await outcome(ids[1])).toBe('400 invalid_client: the client document answers with status 500')
  })

  test('a client that is gone gets no tokens, and is back with its document', async () => {
    const path = newPath()
    const client_id = documents.publish(path)
    const first = await redeem(service, { client_id }, await consent(client_id), { resource })
    service.advance(3601)
    documents.publish(path, {}, { status: 404 })
    await outcome(client_id)
    const refusals = () => metricOf(service, 'ext_refusals_total{error="invalid_client",reason="client_document_gone"}')
    const before = await refusals()
    const refused = await refresh(service, { client_id }, first.body['refresh_token'])
    expect([refused.status, refused.body['error']]).toEqual([401, 'invalid_client'])
    expect(await refusals()).toBe(before + 1)
    documents.publish(path)
    service.advance(31)
    expect((await refresh(service, { client_id }, first.body['refresh_token'])).status).toBe(200)
  })
})
