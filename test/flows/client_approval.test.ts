// Which clients an operator must approve (clients.approval): what people see, what waits, and who is refused.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { requestApproval } from '../../src/oauth/clients/approval.ts'
import type { Client } from '../../src/records/client.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { keySetOf, proving } from '../support/assertion.ts'
import { Browser, type Page } from '../support/browser.ts'
import { askForCode, codesOf, DEVICES, enterCode, poll } from '../support/device.ts'
import { ask, DocumentServer, forgetDocuments, LOCAL_DOCUMENTS, signedIn } from '../support/documents.ts'
import { authorize, authorizeUrl, machineToken, redeem, refresh, register } from '../support/flow.ts'
import { idpKey, TestIdp } from '../support/idp.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { JWT_BEARER, redeemAssertion, trust, watchReasons } from '../support/xaa.ts'

let service: TestService
let documents: DocumentServer
let user: Awaited<ReturnType<typeof addUser>>
let resource: string
let browser: Browser
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService({ ...LOCAL_DOCUMENTS, ...DEVICES, SERVICE_CLIENTS_APPROVAL: 'all' })
  user = await addUser(service)
  resource = (await addResource(service)).uri
  browser = await signedIn(service, user)
})
afterAll(async () => {
  documents.close()
  await service.close()
})
beforeEach(async () => {
  need('all')
  await forgetDocuments(service)
})

const need = (approval: 'none' | 'documents' | 'all') => Object.assign(service.app.config.clients, { approval })
let count = 0
const published = (more: Record<string, unknown> = {}) => documents.publish(`/${++count}/client.json`, more)
const registered = async (more: Record<string, unknown> = {}) =>
  (await (await register(service, { token_endpoint_auth_method: 'none', ...more })).json()) as {
    client_id: string
    client_secret?: string
  }
const both = async () => [published(), (await registered()).client_id]

interface Waiting {
  id: string
  client_id: string
  client_name: string
  redirect_hosts: string[]
  resource?: string
  requested_by: string
  count: number
  status: string
}
const requestsOf = async (client_id: string) =>
  (await okAdmin<Waiting[]>(service, 'GET', '/admin/client-requests?limit=1000')).filter(
    (each) => each.client_id === client_id,
  )
async function decideOn(client_id: string, verdict: 'approve' | 'deny') {
  const [request] = await requestsOf(client_id)
  return okAdmin<Waiting>(service, 'POST', `/admin/client-requests/${request?.id}/${verdict}`)
}
const opened = (client_id: string, at = browser, more: Record<string, string> = {}): Promise<Page> =>
  at.follow(authorizeUrl(service, { client_id, resource, ...more }))
const granted = async (client_id: string) =>
  redeem(service, { client_id }, await authorize(service, { client_id }, user, { resource }, browser))
const waits = async (client_id: string) => expect((await opened(client_id)).text).toContain('is not approved yet')

describe('a client that nothing has approved', () => {
  test('gets no further than sign-in: the person reads who asks, and one record waits', async () => {
    for (const client_id of await both()) {
      const login = await opened(client_id, new Browser())
      expect(login.text).toContain('type="password"')
      expect(await requestsOf(client_id)).toEqual([])
      const page = await opened(client_id)
      expect([page.status, page.text]).toEqual([
        403,
        expect.stringMatching(/Desk.*is not approved yet[\s\S]*An operator/),
      ])
      expect(page.text).not.toContain('value="allow"')
      expect(page.text).toMatch(/href="[^"]*error=access_denied/)
      await waits(client_id)
      expect(await requestsOf(client_id)).toMatchObject([
        {
          ...{ client_name: 'Desk', redirect_hosts: ['client.example.com'], resource, requested_by: user.id },
          ...{ count: 2, status: 'waiting' },
        },
      ])
    }
    const events = (await eventsOf(service, 'client_requested')).filter(({ actor_id }) => actor_id === user.id)
    expect(events[0]?.detail).toEqual({ client_name: 'Desk', redirect_hosts: ['client.example.com'] })
    expect(new Set(events.map(({ client_id }) => client_id)).size).toBe(events.length)
  })

  test('gets access_denied at once with prompt=none, and as an answer to a program', async () => {
    const client_id = published()
    const silent = await ask(service, browser, { client_id, resource, prompt: 'none' })
    const program = await ask(service, browser, { client_id, resource })
    for (const { location = '' } of [silent, program])
      expect(new URL(location).searchParams.get('error')).toBe('access_denied')
    expect(await requestsOf(client_id)).toMatchObject([{ count: 2 }])
  })

  test('continues after its approval, and waits again once it was deleted', async () => {
    const client_id = published()
    await waits(client_id)
    expect(await decideOn(client_id, 'approve')).toMatchObject({ client_id, status: 'approved' })
    expect((await granted(client_id)).status).toBe(200)
    await okAdmin(service, 'DELETE', `/admin/clients/${encodeURIComponent(client_id)}?force=true`)
    await waits(client_id)
    expect((await eventsOf(service, 'client_approved'))[0]).toMatchObject({
      client_id,
      detail: { client_name: 'Desk' },
    })
  })

  test('is refused at once after a denial, before sign-in too, and can be approved later', async () => {
    for (const client_id of await both()) {
      await waits(client_id)
      await decideOn(client_id, 'deny')
      for (const at of [new Browser(), browser]) {
        const page = await opened(client_id, at)
        expect(page.location ?? page.text).toMatch(/error=access_denied|an operator has denied/i)
        expect(page.text).not.toContain('type="password"')
      }
      expect(await requestsOf(client_id)).toMatchObject([{ status: 'denied', count: 1 }])
      await decideOn(client_id, 'approve')
      expect((await granted(client_id)).status).toBe(200)
    }
  })

  test('is not approved by a change that an operator makes to it', async () => {
    const { client_id } = await registered()
    await okAdmin(service, 'PATCH', `/admin/clients/${client_id}`, { client_name: 'Renamed', scope: 'mcp:read' })
    expect((await opened(client_id)).text).toContain('Renamed')
    expect(await requestsOf(client_id)).toHaveLength(1)
  })

  test('is not approved by an operator who looks at its document', async () => {
    const client_id = published()
    await waits(client_id)
    const shown = await okAdmin<{ document: { client_name: string } }>(
      service,
      'POST',
      `/admin/clients/${encodeURIComponent(client_id)}/fetch-document`,
    )
    expect(shown.document.client_name).toBe('Desk')
    await waits(client_id)
  })

  test('of a device that was denied meanwhile: the person reads that, and no request is sent', async () => {
    const { client_id } = await registered()
    const grant_types = ['urn:ietf:params:oauth:grant-type:device_code', 'authorization_code']
    await okAdmin(service, 'PATCH', `/admin/clients/${client_id}`, { grant_types })
    const codes = codesOf(await askForCode(service, { client_id }, { resource }))
    await waits(client_id)
    await decideOn(client_id, 'deny')
    const page = await enterCode(service, browser, codes.user_code)
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('an operator has denied this client')])
    expect(page.text).not.toContain('The request was sent')
  })

  test('of a device: the person reads it, and the code stays usable until after the approval', async () => {
    const { client_id } = await registered({ token_endpoint_auth_method: 'none' })
    const grant_types = ['urn:ietf:params:oauth:grant-type:device_code', 'authorization_code']
    await okAdmin(service, 'PATCH', `/admin/clients/${client_id}`, { grant_types })
    const codes = codesOf(await askForCode(service, { client_id }, { resource }))
    expect((await enterCode(service, browser, codes.user_code)).text).toContain('is not approved yet')
    expect((await poll(service, { client_id }, codes)).body['error']).toBe('authorization_pending')
    await decideOn(client_id, 'approve')
    expect((await enterCode(service, browser, codes.user_code)).location).toContain('/consent')
  })

  test('gets no token for itself', async () => {
    const client = await registered({ token_endpoint_auth_method: 'client_secret_basic' })
    await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}`, { grant_types: ['client_credentials'] })
    const reasonOf = watchReasons(service)
    const answer = await machineToken(service, client, { resource, scope: 'mcp:read' })
    expect([answer.status, answer.body['error'], reasonOf(answer)]).toEqual([
      ...[400, 'unauthorized_client', 'client_not_approved'],
    ])
    expect((await machineToken(service, await addClient(service), { resource, scope: 'mcp:read' })).status).toBe(200)
  })
})

test('a client that got tokens for itself gets none from the moment at which an operator denies it', async () => {
  const made = await registered({ token_endpoint_auth_method: 'client_secret_basic', scope: 'mcp:read' })
  await okAdmin(service, 'PATCH', `/admin/clients/${made.client_id}`, { grant_types: ['client_credentials'] })
  const client = (await service.app.store.findClient(made)) as Client
  await requestApproval(service.app, { client, user_id: user.id }, { ip: '192.0.2.1', request_id: 'r' })
  await decideOn(made.client_id, 'approve')
  const statusNow = async () => (await machineToken(service, made, { resource, scope: 'mcp:read' })).status
  expect([await statusNow(), await statusNow()]).toEqual([200, 200])
  await decideOn(made.client_id, 'deny')
  expect(await statusNow()).toBe(400)
})

test('a consent page that was open when the key was set decides nothing', async () => {
  need('none')
  const client_id = published()
  const page = await opened(client_id)
  expect(page.text).toContain('value="allow"')
  need('all')
  const { location = '' } = await ask(service, browser, { client_id, resource, prompt: 'none' })
  expect(location).toContain('access_denied')
  const id = /name="session_id" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const csrf_token = /name="csrf_token" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const fields = { session_id: id, csrf_token, action: 'allow', scopes: 'mcp:read' }
  const answer = await browser.post(`${service.issuer}/consent`, fields)
  expect(answer.location ?? '').not.toContain('code=')
})

test('clients of operators, and clients that users allowed before the key was set, need no approval', async () => {
  need('none')
  const before = await both()
  const tokens = []
  for (const client_id of before) tokens.push((await granted(client_id)).body)
  need('all')
  const made = published()
  await okAdmin(service, 'POST', '/admin/clients', { client_id: made })
  const { client_id: created } = await addClient(service, { token_endpoint_auth_method: 'none' })
  for (const client_id of [...before, made, created]) {
    expect((await granted(client_id)).status).toBe(200)
    expect(await requestsOf(client_id)).toEqual([])
  }
  for (const [i, client_id] of before.entries())
    expect((await refresh(service, { client_id }, tokens[i]?.['refresh_token'])).status).toBe(200)
})

test('a denial ends the refreshing of tokens', async () => {
  const client_id = published()
  await waits(client_id)
  await decideOn(client_id, 'approve')
  const { body } = await granted(client_id)
  await decideOn(client_id, 'deny')
  const reasonOf = watchReasons(service)
  const answer = await refresh(service, { client_id }, body['refresh_token'])
  expect([answer.status, answer.body['error'], reasonOf(answer)]).toEqual([400, 'unauthorized_client', 'client_denied'])
})

test('documents: only clients with a document wait; none: no client does', async () => {
  const [document = '', registration = ''] = await both()
  need('documents')
  await waits(document)
  expect((await granted(registration)).status).toBe(200)
  need('none')
  expect((await granted(document)).status).toBe(200)
})

test('the policy that names a client is its approval for an ID-JAG, and a policy for all clients is none', async () => {
  const key = await idpKey()
  const members = { token_endpoint_auth_method: 'private_key_jwt', jwks: keySetOf(key) }
  const client_id = published({ ...members, grant_types: ['authorization_code', JWT_BEARER] })
  const idp = await TestIdp.start()
  await trust(service, idp, [
    { client_ids: [client_id], scopes: ['mcp:read'] },
    { client_ids: [], scopes: ['mcp:read'] },
  ])
  const answerOf = async (id: string, fields: Record<string, string>) => {
    const text = await idp.assertion({ aud: service.issuer, client_id: id, now: service.app.clock.now() })
    return redeemAssertion(service, undefined, text, { client_id: id, resource, scope: 'mcp:read', ...fields })
  }
  const proof = await proving(service, { client_id, key } as unknown as Parameters<typeof proving>[1])
  expect((await answerOf(client_id, proof)).status).toBe(200)
  const { client_id: other = '', client_secret = '' } = await registered({
    token_endpoint_auth_method: 'client_secret_post',
  })
  await okAdmin(service, 'PATCH', `/admin/clients/${other}`, {
    grant_types: [JWT_BEARER],
    scope: 'mcp:read',
  })
  const reasonOf = watchReasons(service)
  const answer = await answerOf(other, { client_secret })
  expect([answer.status, reasonOf(answer)]).toEqual([400, 'client_not_approved'])
})

test('a request that does not exist is 404, and a repeated decision records nothing', async () => {
  for (const verdict of ['approve', 'deny'])
    for (const id of ['nothing', '_____________________w'])
      expect((await callAdmin(service, 'POST', `/admin/client-requests/${id}/${verdict}`)).status).toBe(404)
  const client_id = published()
  await waits(client_id)
  for (const _ of [1, 2]) await decideOn(client_id, 'deny')
  expect((await eventsOf(service, 'client_denied')).filter((each) => each.client_id === client_id)).toHaveLength(1)
})

test('at most 1,000 wait: the oldest goes, and decided ones stay', async () => {
  const denied = published()
  await waits(denied)
  await decideOn(denied, 'deny')
  const now = service.app.clock.now()
  const { newId } = await import('../../src/lib/id.ts')
  const first = `https://first.example.com/${newId()}`
  for (let n = 0; n <= 1000; n++) {
    const client_id = n === 0 ? first : `https://${n}.example.com/c.json`
    const about = { id: newId(), client_id, client_name: 'N', redirect_hosts: [], requested_by: newId() }
    const request = { ...about, count: 1, status: 'waiting' as const, first_at: now, last_at: now }
    await service.app.store.requestClient({ request, max: 1000, most_of_person: 100 })
  }
  expect(await service.app.store.findClientRequest({ client_id: first })).toBeUndefined()
  expect(await okAdmin<unknown[]>(service, 'GET', '/admin/client-requests?status=waiting&limit=1000')).toHaveLength(
    1000,
  )
  expect(await requestsOf(denied)).toHaveLength(0)
  expect(await service.app.store.findClientRequest({ client_id: denied })).toMatchObject({ status: 'denied' })
  const { attention } = await okAdmin<{ attention: { kind: string; text: string }[] }>(
    service,
    'GET',
    '/admin/system/status',
  )
  expect(attention.find(({ kind }) => kind === 'client_requests')?.text).toBe('1000 clients wait for approval.')
})
