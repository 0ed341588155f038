// Attacks on the feed of revocations of the package for resource servers (attacks.md, section W): an answer without events proves nothing.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createVerifier, Refusal, type Verifier } from '../../packages/resource-server/src/index.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { machineToken, post } from '../support/flow.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { failureOf } from '../support/thrown.ts'
import { pause } from '../support/wire.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_EVENTS_ALLOW_HOSTS: '127.0.0.1', SERVICE_EVENTS_PUSH_HOSTS: '127.0.0.1' })
  atEndOfFile(() => service.close())
})

afterEach(() => void vi.useRealTimers())

/** The age after which a feed is not fresh in the tests by poll, in seconds: no change is noticed later, even if polls are refused meanwhile. */
const POLL_MAX_AGE = 20
const WAIT_MS = POLL_MAX_AGE * 1000 + 10_000

/** The URL of an HTTP server that gives every request to a verifier. */
async function pushUrl(verifier: () => Verifier | undefined): Promise<string> {
  const http = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const headers = request.headers as Record<string, string>
    const pushed = new Request('http://rs.example.com/events', { method: 'POST', headers, body: Buffer.concat(chunks) })
    const answer = await verifier()?.receive(pushed)
    response.writeHead(answer?.status ?? 500).end()
  }).listen(0, '127.0.0.1')
  await once(http, 'listening')
  atEndOfFile(() => void http.close())
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/events`
}

/** A resource server whose client also serves another resource, with a token that it accepts. */
async function resourceServer(delivery: 'poll' | 'push', maxAge: number) {
  const [server, client] = [await addClient(service), await addClient(service)]
  const policy = { runtime: { client_ids: [server.client_id] } }
  const { uri, slug } = await addResource(service, { policy })
  await addResource(service, { policy })
  const at = { down: false, held: Promise.resolve(), polls: 0, silent: '' }
  const fetcher: typeof fetch = async (input, init) => {
    if (String(input).includes('/ssf/poll')) at.polls++
    if (String(input).includes('/ssf/')) await at.held
    if (String(input).includes('/ssf/poll') && at.silent) return fetch(at.silent, init)
    if (at.down && String(input).includes('/ssf/')) throw new Error('connection refused')
    return fetch(input, init)
  }
  const said: string[] = []
  let verifier: Verifier | undefined
  const url = delivery === 'push' ? await pushUrl(() => verifier) : ''
  verifier = createVerifier({
    issuer: service.issuer,
    resource: uri,
    fetch: fetcher,
    revocations: {
      clientId: server.client_id,
      clientSecret: server.client_secret,
      maxAge,
      ...(url ? { delivery: { push: url } } : {}),
      onChange: ({ healthy, reason }) => said.push(`${healthy} ${reason}`),
    },
  })
  atEndOfFile(() => verifier.close())
  const issue = async () =>
    String((await machineToken(service, client, { resource: uri, scope: 'mcp:read' })).body['access_token'])
  const codeOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const refusal = await failureOf(verifier.verify({ method: 'POST', url: '/', headers }))
    return refusal instanceof Refusal ? refusal.code : (refusal ?? 'accepted')
  }
  const becomes = (token: string, code: string) =>
    vi.waitFor(async () => expect(await codeOf(token), said.join('\n')).toBe(code), { timeout: WAIT_MS, interval: 20 })
  // A request that is not answered in time may have created a stream that is not used: the last one is.
  await vi.waitFor(() => expect(said.at(-1)).toMatch(/^true/), { timeout: WAIT_MS })
  const all = await okAdmin<{ stream_id: string; aud: string }[]>(service, 'GET', '/admin/streams')
  const streams = all.filter(({ aud }) => aud === server.client_id).slice(-1)
  const revoke = (token: string) => post(`${service.issuer}/oauth/revoke`, client, { token })
  const stream = `/admin/streams/${streams[0]?.stream_id}`
  const list = `/admin/resources/${slug}/policy/runtime/client-ids`
  return { server, at, said, issue, codeOf, becomes, revoke, stream, list }
}
type Served = Awaited<ReturnType<typeof resourceServer>>

const ALL = ['session-revoked', 'token-claims-change'].map(
  (name) => `https://schemas.openid.net/secevent/caep/event-type/${name}`,
)
const NEEDED = [...ALL, 'https://schemas.openid.net/secevent/oauth/event-type/token-revoked']
const change = (path: string, body: object) => okAdmin(service, 'PATCH', path, body)
/** What is done to the stream, how it is undone, and what the resource server says. */
const CHANGES: [string, (at: Served) => Promise<unknown>, (at: Served) => Promise<unknown>, RegExp][] = [
  [
    'is paused',
    ({ stream }) => change(stream, { status: 'paused' }),
    ({ stream }) => change(stream, { status: 'enabled' }),
    /the stream is paused/,
  ],
  [
    'is disabled',
    ({ stream }) => change(stream, { status: 'disabled' }),
    ({ stream }) => change(stream, { status: 'enabled' }),
    /the stream is disabled/,
  ],
  [
    'requests no events',
    ({ stream }) => change(stream, { events_requested: [] }),
    ({ stream }) => change(stream, { events_requested: NEEDED }),
    /does not deliver the events .*session-revoked.*token-revoked/,
  ],
  [
    'requests all events but one',
    ({ stream }) => change(stream, { events_requested: ALL }),
    ({ stream }) => change(stream, { events_requested: NEEDED }),
    /does not deliver the events [^ ]*token-revoked$/,
  ],
  [
    'has a client that is taken from one of two runtime lists',
    ({ list, server }) => okAdmin(service, 'DELETE', `${list}/${server.client_id}`),
    ({ list, server }) => okAdmin(service, 'POST', list, { client_id: server.client_id }),
    /not on the runtime list of /,
  ],
]

describe.each(['poll', 'push'] as const)('by %s', (delivery) => {
  test.concurrent.each(CHANGES)(
    'W03 a stream that %s: 503 for every token with the reason, few polls, and afterwards every earlier token is introspected',
    async (_what, alter, undo, reason) => {
      const served = await resourceServer(delivery, delivery === 'push' ? 3 : POLL_MAX_AGE)
      const { at, said, issue, codeOf, becomes, revoke } = served
      const [kept, revoked] = [await issue(), await issue()]
      await becomes(kept, 'accepted')
      expect(await codeOf(revoked)).toBe('accepted')
      await alter(served)
      await becomes(kept, 'temporarily_unavailable')
      // On a slow machine the silence is noticed before its cause.
      await vi.waitFor(() => expect(said.at(-1)).toMatch(reason), { timeout: WAIT_MS })
      const { polls } = at
      await pause(1000)
      expect(at.polls - polls).toBeLessThanOrEqual(4)
      expect(await codeOf(kept)).toBe('temporarily_unavailable')
      await revoke(revoked)
      // Meanwhile the server passes over the event, because the stream does not deliver it.
      await pause(800)
      await undo(served)
      await becomes(kept, 'accepted')
      expect(await codeOf(revoked)).toBe('invalid_token')
    },
  )

  test.concurrent.each(CHANGES.slice(2))(
    'W04 a stream that %s, where a revocation follows and the change is undone before the next request',
    async (_what, alter, undo) => {
      const served = await resourceServer(delivery, 2)
      const { at, issue, codeOf, becomes, revoke } = served
      const [kept, revoked] = [await issue(), await issue()]
      await becomes(kept, 'accepted')
      expect(await codeOf(revoked)).toBe('accepted')
      let release = () => {}
      at.held = new Promise((resolve) => {
        release = resolve
      })
      // A poll that waits already returns before its deadline of a second, or is given up.
      await pause(1200)
      await alter(served)
      await revoke(revoked)
      // Meanwhile the server passes over the event, because the stream does not deliver it.
      await pause(800)
      await undo(served)
      release()
      await vi.waitFor(
        async () => expect([await codeOf(kept), await codeOf(revoked)]).toEqual(['accepted', 'invalid_token']),
        {
          timeout: WAIT_MS,
          interval: 20,
        },
      )
    },
  )

  test.concurrent('W03 a stream that is deleted is replaced, and every earlier token is introspected', async () => {
    const { stream, issue, codeOf, becomes, revoke } = await resourceServer(delivery, 3)
    const [kept, revoked] = [await issue(), await issue()]
    await becomes(kept, 'accepted')
    expect(await codeOf(revoked)).toBe('accepted')
    await okAdmin(service, 'DELETE', stream)
    await revoke(revoked)
    await vi.waitFor(async () => expect(await codeOf(revoked)).toBe('invalid_token'), { timeout: WAIT_MS })
    await becomes(kept, 'accepted')
  })
})

test('W05 a verification event with a state that another caller chose does not make the feed fresh, however it arrives', async () => {
  const { at, stream, issue, codeOf, becomes } = await resourceServer('push', 2)
  const token = await issue()
  await becomes(token, 'accepted')
  at.down = true
  for (const state of [String(Date.now() + 1e9), String(Date.now()), '9'.repeat(300), 'Infinity'])
    await okAdmin(service, 'POST', `${stream}/verify`, { state })
  await becomes(token, 'temporarily_unavailable')
  await okAdmin(service, 'POST', `${stream}/verify`, { state: String(Date.now() + 1e9) })
  // The sender has a round in this time.
  await pause(800)
  expect(await codeOf(token)).toBe('temporarily_unavailable')
  at.down = false
  await becomes(token, 'accepted')
})

test('W05 a verification event cannot be delivered once more out of its order', async () => {
  const { stream, issue, becomes } = await resourceServer('push', 2)
  await becomes(await issue(), 'accepted')
  const events = await okAdmin<{ id: string; detail: { stream_id: string } }[]>(
    service,
    'GET',
    '/admin/audit?action=stream_verification_requested',
  )
  const mine = events.find(({ detail }) => stream.endsWith(detail.stream_id))
  const answer = await callAdmin(service, 'POST', `${stream}/redeliver/${mine?.id}`)
  expect([answer.status, answer.body['error_description']]).toEqual([400, expect.stringContaining('verification')])
})

test('W08 a clock that is set back does not make the feed fresh', async () => {
  const { at, issue, codeOf, becomes } = await resourceServer('poll', 1)
  const token = await issue()
  await becomes(token, 'accepted')
  at.down = true
  await becomes(token, 'temporarily_unavailable')
  const now = Date.now()
  for (const ms of [now - 600_000, now - 1500, now - 2500]) {
    vi.useFakeTimers({ toFake: ['Date'], now: ms })
    expect(await codeOf(token)).toBe('temporarily_unavailable')
  }
})

test('W06 a poll that is never answered ends at its deadline, also if garbage is collected meanwhile', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { at, issue, becomes } = await resourceServer('poll', 2)
  const token = await issue()
  await becomes(token, 'accepted')
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  at.silent = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
  await becomes(token, 'temporarily_unavailable')
  const { polls } = at
  for (let i = 0; i < 20; i++) {
    collect()
    await pause(100)
  }
  expect(at.polls).toBeGreaterThan(polls)
  at.silent = ''
  await becomes(token, 'accepted')
  silent.closeAllConnections()
  silent.close()
})
