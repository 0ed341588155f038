// The feed of revocations of the package for resource servers, against a running service: by poll and by push.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  createVerifier,
  Refusal,
  type Verifier,
  type VerifierOptions,
} from '../../packages/resource-server/src/index.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { machineToken, post } from '../support/flow.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { failureOf } from '../support/thrown.ts'

const RESOURCE = 'https://notes.example.com/mcp'
let service: TestService
let server: Awaited<ReturnType<typeof addClient>>
beforeAll(async () => {
  service = await startService({ SERVICE_EVENTS_ALLOW_HOSTS: '127.0.0.1', SERVICE_EVENTS_PUSH_HOSTS: '127.0.0.1' })
  atEndOfFile(() => service.close())
  server = await addClient(service)
  await addResource(service, { uri: RESOURCE, policy: { runtime: { client_ids: [server.client_id] } } })
})

const open: Verifier[] = []
afterEach(async () => {
  for (const verifier of open.splice(0)) await verifier.close()
})
function verifierOf(revocations: Partial<VerifierOptions['revocations']> = {}, more: Partial<VerifierOptions> = {}) {
  const as = { clientId: server.client_id, clientSecret: server.client_secret }
  const verifier = createVerifier({
    issuer: service.issuer,
    resource: RESOURCE,
    revocations: { ...as, ...revocations },
    ...more,
  })
  open.push(verifier)
  return verifier
}
const tokenOf = async (client: { client_id: string; client_secret: string }) => {
  const { body } = await machineToken(service, client, { resource: RESOURCE, scope: 'mcp:read' })
  return String(body['access_token'])
}
const bearer = (token: string) =>
  new Request(RESOURCE, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
const codeOf = async (verifier: Verifier, token: string) => {
  const refusal = await failureOf(verifier.verify(bearer(token)))
  return refusal === undefined ? 'accepted' : refusal instanceof Refusal ? refusal.code : String(refusal)
}
const becomes = (verifier: Verifier, token: string, code: string) =>
  vi.waitFor(async () => expect(await codeOf(verifier, token)).toBe(code), { timeout: 10_000, interval: 20 })
const streams = () => okAdmin<unknown[]>(service, 'GET', '/admin/streams')

/** The receiver of pushes: an HTTP server that gives every request to the verifier. */
interface Receiver {
  url: string
  verifier?: Verifier
  /** The pushes, in order. */
  pushed: { headers: Headers; body: Buffer }[]
}
async function receiver(): Promise<Receiver> {
  const at: Receiver = { url: '', pushed: [] }
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const headers = new Headers(request.headers as Record<string, string>)
    const body = Buffer.concat(chunks)
    at.pushed.push({ headers, body })
    const answer = await at.verifier?.receive(new Request(at.url, { method: 'POST', headers, body }))
    response.writeHead(answer?.status ?? 500).end(await answer?.text())
  }).listen(0, '127.0.0.1')
  await once(http, 'listening')
  atEndOfFile(() => void http.close())
  at.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/events`
  return at
}

describe.each(['poll', 'push'])('by %s', (delivery) => {
  const started = async (more: Partial<VerifierOptions> = {}) => {
    if (delivery === 'poll') return verifierOf({}, more)
    const at = await receiver()
    at.verifier = verifierOf({ delivery: { push: at.url } }, more)
    return at.verifier
  }

  test('nothing is accepted before the feed works; then valid tokens are, and a revoked one is refused', async () => {
    const client = await addClient(service)
    const [revoked, kept] = [await tokenOf(client), await tokenOf(client)]
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const fetcher: typeof fetch = async (...args) => {
      if (String(args[0]).includes('/ssf/')) await held
      return fetch(...args)
    }
    const verifier = await started({ fetch: fetcher })
    expect(await codeOf(verifier, kept)).toBe('temporarily_unavailable')
    letGo()
    await becomes(verifier, revoked, 'accepted')
    await post(`${service.issuer}/oauth/revoke`, client, { token: revoked })
    await becomes(verifier, revoked, 'invalid_token')
    expect(await codeOf(verifier, kept)).toBe('accepted')
  })

  test('all tokens of a client are refused after its suspension, and those of another are not', async () => {
    const [client, other] = [await addClient(service), await addClient(service)]
    const [suspended, kept] = [await tokenOf(client), await tokenOf(other)]
    const verifier = await started()
    await becomes(verifier, suspended, 'accepted')
    await okAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
    await becomes(verifier, suspended, 'invalid_token')
    expect(await codeOf(verifier, kept)).toBe('accepted')
  })

  test('a token that was revoked before the feed began is refused', async () => {
    const client = await addClient(service)
    const [revoked, kept] = [await tokenOf(client), await tokenOf(client)]
    await post(`${service.issuer}/oauth/revoke`, client, { token: revoked })
    const verifier = await started()
    await becomes(verifier, kept, 'accepted')
    expect(await codeOf(verifier, revoked)).toBe('invalid_token')
  })

  test('close deletes the stream', async () => {
    const before = (await streams()).length
    const verifier = await started()
    await vi.waitFor(async () => expect((await streams()).length).toBe(before + 1), { timeout: 10_000 })
    await verifier.close()
    expect((await streams()).length).toBe(before)
  })
})

test('the feed fails closed when it has been silent for too long, and reports it once', async () => {
  const client = await addClient(service)
  const token = await tokenOf(client)
  const said: boolean[] = []
  let down = false
  const fetcher: typeof fetch = (...args) => (down ? Promise.reject(new Error('connection refused')) : fetch(...args))
  const verifier = verifierOf({ maxAge: 1, onChange: ({ healthy }) => said.push(healthy) }, { fetch: fetcher })
  await becomes(verifier, token, 'accepted')
  down = true
  await becomes(verifier, token, 'temporarily_unavailable')
  down = false
  await becomes(verifier, token, 'accepted')
  expect(said).toEqual([true, false, true])
})

test('a feed whose polls are never answered is reported, also when no token is verified', async () => {
  const said: boolean[] = []
  let hangs = false
  const fetcher: typeof fetch = (...args) =>
    hangs && String(args[0]).includes('/ssf/poll') ? new Promise(() => {}) : fetch(...args)
  verifierOf({ maxAge: 1, onChange: ({ healthy }) => said.push(healthy) }, { fetch: fetcher })
  await vi.waitFor(() => expect(said).toEqual([true]), { timeout: 10_000 })
  hangs = true
  await vi.waitFor(() => expect(said).toEqual([true, false]), { timeout: 10_000 })
})

test('a pushed feed whose verification events never arrive is reported', async () => {
  const at = await receiver()
  const said: boolean[] = []
  const verifier = verifierOf({
    delivery: { push: at.url },
    maxAge: 1,
    onChange: ({ healthy }) => said.push(healthy),
  })
  at.verifier = verifier
  await vi.waitFor(() => expect(said[0]).toBe(true), { timeout: 10_000 })
  at.verifier = undefined
  await vi.waitFor(() => expect(said.at(-1)).toBe(false), { timeout: 10_000 })
})

test('the feed works only when a poll has returned the last event that waits', async () => {
  const token = await tokenOf(await addClient(service))
  let hasMore = true
  const fetcher: typeof fetch = async (...args) => {
    const answer = await fetch(...args)
    if (!String(args[0]).includes('/ssf/poll')) return answer
    return Response.json({ ...((await answer.json()) as object), moreAvailable: hasMore })
  }
  const said: boolean[] = []
  const before = (await streams()).length
  const verifier = verifierOf({ maxAge: 1, onChange: ({ healthy }) => said.push(healthy) }, { fetch: fetcher })
  await vi.waitFor(async () => expect((await streams()).length).toBe(before + 1))
  expect([await codeOf(verifier, token), said]).toEqual(['temporarily_unavailable', []])
  hasMore = false
  await becomes(verifier, token, 'accepted')
})

test('a pushed event does not show that the events after it have arrived: only the requested verification event does', async () => {
  const at = await receiver()
  let down = false
  const fetcher: typeof fetch = (...args) =>
    down && String(args[0]).includes('verif') ? Promise.reject(new Error('connection refused')) : fetch(...args)
  const verifier = verifierOf({ delivery: { push: at.url }, maxAge: 1 }, { fetch: fetcher })
  at.verifier = verifier
  const [client, other] = [await addClient(service), await addClient(service)]
  const [token] = [await tokenOf(other), await tokenOf(client)]
  await becomes(verifier, token, 'accepted')
  down = true
  const downMs = Date.now()
  // A verification event that was requested before is too old then.
  await vi.waitFor(() => expect(Date.now() - downMs).toBeGreaterThan(1000), { timeout: 5000 })
  expect(await codeOf(verifier, token)).toBe('temporarily_unavailable')
  const { length } = at.pushed
  await okAdmin(service, 'POST', '/admin/revocations', { client_id: client.client_id })
  await vi.waitFor(() => expect(at.pushed.length).toBeGreaterThan(length), { timeout: 10_000 })
  expect(await codeOf(verifier, token)).toBe('temporarily_unavailable')
  down = false
  await becomes(verifier, token, 'accepted')
})

test('a process that was killed and starts again with its name has one stream', async () => {
  const [first, second] = [verifierOf({ name: 'pod-0' }), () => verifierOf({ name: 'pod-0' })]
  const named = async () =>
    (await streams()).filter((each) => (each as { description?: string }).description === 'pod-0')
  const idOf = async () => ((await named())[0] as { stream_id?: string } | undefined)?.stream_id
  await vi.waitFor(async () => expect(await named()).toHaveLength(1), { timeout: 10_000 })
  const stream = await idOf()
  const again = second()
  // Between the end of the old stream and the start of the new one there is none.
  await vi.waitFor(async () => expect([undefined, stream]).not.toContain(await idOf()), { timeout: 10_000 })
  expect(await named()).toHaveLength(1)
  await Promise.all([first.close(), again.close()])
})

test('a pushed event without the authorization of the stream, or with a wrong signature, changes nothing', async () => {
  const at = await receiver()
  at.verifier = verifierOf({ delivery: { push: at.url } })
  const token = await tokenOf(await addClient(service))
  await becomes(at.verifier, token, 'accepted')
  const send = (authorization: string) =>
    at.verifier?.receive(new Request(at.url, { method: 'POST', headers: { authorization }, body: 'not.a.token' }))
  expect((await send('Bearer guessed'))?.status).toBe(401)
  expect(await codeOf(at.verifier, token)).toBe('accepted')
  expect((await callAdmin(service, 'GET', '/admin/streams')).status).toBe(200)
})

test('an event that is pushed a second time is accepted and changes nothing: tokens that are younger than it stay valid', async () => {
  const at = await receiver()
  const verifier = verifierOf({ delivery: { push: at.url } })
  at.verifier = verifier
  const client = await addClient(service)
  const old = await tokenOf(client)
  await becomes(verifier, old, 'accepted')
  await okAdmin(service, 'POST', '/admin/revocations', { client_id: client.client_id })
  await becomes(verifier, old, 'invalid_token')
  const repeat = async () => {
    const { headers, body } = at.pushed.at(-1) ?? { headers: new Headers(), body: Buffer.alloc(0) }
    return (await verifier.receive(new Request(at.url, { method: 'POST', headers, body }))).status
  }
  expect([await repeat(), await repeat()]).toEqual([202, 202])
  service.advance(2)
  const young = await tokenOf(client)
  await vi.waitFor(async () => expect(await codeOf(verifier, young)).toBe('accepted'), { timeout: 10_000 })
  expect(await repeat()).toBe(202)
  expect([await codeOf(verifier, young), await codeOf(verifier, old)]).toEqual(['accepted', 'invalid_token'])
})
