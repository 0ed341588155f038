// The examples of resource servers in Go and Python that poll a stream of security events, against the running service.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { SESSION_REVOKED, TOKEN_CLAIMS_CHANGE, TOKEN_REVOKED } from '../../src/events/event_types.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { okAdmin } from '../support/admin.ts'
import { authorize, machineToken, post, redeem } from '../support/flow.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { goExample, python, type Toolchain } from './toolchain.ts'

const EXAMPLES: [string, Toolchain, string[]][] = [
  ['Go', await goExample('go-revocations'), []],
  ['Python', await python('mcp.txt'), [path.join(packageRoot, 'examples/python-revocations/server.py')]],
]
const NEEDED = [SESSION_REVOKED, TOKEN_CLAIMS_CHANGE, TOKEN_REVOKED]
/** Until a revocation must have arrived on a machine that also runs other tests. */
const REFUSED_MS = 20_000
/** The bound of the age of the feed in seconds. */
const MAX_AGE = 4

for (const [name, toolchain, args] of EXAMPLES)
  describe.skipIf('missing' in toolchain)(`the example in ${name}`, () => {
    let service: TestService
    let uri: string
    let server: string
    let child: ReturnType<typeof spawn>
    let restart: () => Promise<void>
    const ask = (token: unknown) => fetch(uri, { headers: { authorization: `Bearer ${token}` } })
    const statusOf = async (token: unknown) => (await ask(token)).status
    const refusedSoon = (token: unknown) =>
      vi.waitFor(async () => expect(await statusOf(token)).toBe(401), { timeout: REFUSED_MS, interval: 50 })

    beforeAll(async () => {
      service = await startService()
      const port = await freePort()
      uri = `http://localhost:${port}/notes`
      const credentials = await addClient(service)
      server = credentials.client_id
      await addResource(service, { uri, policy: { runtime: { client_ids: [server] } } })
      const [program = '', ...rest] = 'missing' in toolchain ? [] : [...toolchain.command, ...args]
      restart = async () => {
        // The next process takes the port of this one, so this one must have ended.
        if (child?.kill()) await once(child, 'exit')
        child = spawn(program, rest, {
          env: {
            PATH: process.env['PATH'],
            PORT: String(port),
            ISSUER: service.issuer,
            CLIENT_ID: server,
            CLIENT_SECRET: credentials.client_secret,
            MAX_AGE: String(MAX_AGE),
          },
          stdio: 'ignore',
        })
        await vi.waitFor(async () => expect(await statusOf('')).toBe(401), { timeout: 60_000 })
      }
      await restart()
    })
    afterAll(async () => {
      child.kill()
    })

    async function machine() {
      const client = await addClient(service)
      const { body } = await machineToken(service, client, { resource: uri, scope: 'mcp:read' })
      return { client, token: String(body['access_token']) }
    }
    async function person() {
      const [client, user] = [await addClient(service), await addUser(service)]
      const authorized = await authorize(service, client, user, { resource: uri })
      return { user, client, token: String((await redeem(service, client, authorized)).body['access_token']) }
    }
    /** Waits until the server verifies a token offline. A token that is older than its feed is examined by the service. */
    async function offline<T extends { token: string }>(issue: () => Promise<T>): Promise<T> {
      return vi.waitFor(
        async () => {
          const issued = await issue()
          const answer = await ask(issued.token)
          expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ state: 'valid' })])
          return issued
        },
        { timeout: 60_000, interval: 500 },
      )
    }

    test('accepts a valid token for its resource, and nothing else', async () => {
      const { token, client } = await offline(machine)
      const { uri: resource } = await addResource(service)
      const { body } = await machineToken(service, client, { resource, scope: 'mcp:read' })
      const forged = `${token.slice(0, -6)}${token.endsWith('AAAAAA') ? 'BBBBBB' : 'AAAAAA'}`
      for (const other of ['', 'opaque', forged, body['access_token']]) expect(await statusOf(other)).toBe(401)
    })

    test('refuses a token that its client revoked, and no other token', async () => {
      const { token, client } = await offline(machine)
      const other = await machineToken(service, client, { resource: uri, scope: 'mcp:read' })
      await post(`${service.issuer}/oauth/revoke`, client, { token })
      await refusedSoon(token)
      expect(await statusOf(other.body['access_token'])).toBe(200)
    })

    test('refuses the tokens of a suspended client, and those of a user who is signed out', async () => {
      const [suspended, signedOut, left] = [await offline(machine), await offline(person), await offline(person)]
      await okAdmin(service, 'PATCH', `/admin/clients/${suspended.client.client_id}/suspend`)
      await refusedSoon(suspended.token)
      await okAdmin(service, 'DELETE', `/admin/users/${signedOut.user.id}/tokens`)
      await refusedSoon(signedOut.token)
      expect(await statusOf(left.token)).toBe(200)
    })

    test('refuses the tokens of a revoked key, and accepts those of the next key', async () => {
      const { token } = await offline(machine)
      const { current_kid } = await okAdmin<{ current_kid: string }>(service, 'GET', '/admin/keys')
      await okAdmin(service, 'POST', `/admin/keys/${current_kid}/revoke`, {})
      await refusedSoon(token)
      await offline(machine)
    })

    test('refuses after a restart what was revoked before it', async () => {
      const [revoked, live] = [await offline(machine), await offline(machine)]
      await post(`${service.issuer}/oauth/revoke`, revoked.client, { token: revoked.token })
      await refusedSoon(revoked.token)
      await restart()
      expect([await statusOf(revoked.token), await statusOf(live.token)]).toEqual([401, 200])
    })

    const STREAMS = [
      ['paused', { status: 'paused' }, { status: 'enabled' }],
      ['without a type of event', { events_requested: [SESSION_REVOKED] }, { events_requested: NEEDED }],
    ] as const
    test.each(STREAMS)(
      'accepts no token at once when its stream is %s, and asks about earlier ones afterwards',
      async (_what, change, undo) => {
        const [live, revoked] = [await offline(machine), await offline(machine)]
        const streams = await okAdmin<{ stream_id: string; aud: string }[]>(service, 'GET', '/admin/streams')
        const at = `/admin/streams/${streams.find(({ aud }) => aud === server)?.stream_id}`
        await okAdmin(service, 'PATCH', at, change)
        await vi.waitFor(async () => expect(await statusOf(live.token)).toBe(503), {
          timeout: REFUSED_MS,
          interval: 50,
        })
        await post(`${service.issuer}/oauth/revoke`, revoked.client, { token: revoked.token })
        await okAdmin(service, 'PATCH', at, undo)
        await vi.waitFor(async () => expect(await statusOf(live.token)).toBe(200), { timeout: 60_000, interval: 50 })
        expect(await statusOf(revoked.token)).toBe(401)
      },
    )

    test('accepts no token when its client is taken from the list of the resource, although it serves another one', async () => {
      const { token } = await offline(machine)
      await addResource(service, { policy: { runtime: { client_ids: [server] } } })
      const [resource] = (await okAdmin<{ uri: string; slug: string }[]>(service, 'GET', '/admin/resources')).filter(
        (each) => each.uri === uri,
      )
      const list = `/admin/resources/${resource?.slug}/policy/runtime/client-ids`
      await okAdmin(service, 'DELETE', `${list}/${server}`)
      await vi.waitFor(async () => expect(await statusOf(token)).toBe(503), { timeout: REFUSED_MS, interval: 50 })
      await okAdmin(service, 'POST', list, { client_id: server })
      await vi.waitFor(async () => expect(await statusOf(token)).toBe(200), { timeout: 60_000, interval: 50 })
    })

    test('accepts no token when its feed is too old', async () => {
      const { token } = await offline(machine)
      await service.close()
      await vi.waitFor(async () => expect(await statusOf(token)).toBe(503), { timeout: MAX_AGE * 1000 + REFUSED_MS })
    })
  })
