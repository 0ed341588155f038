// Several secrets of a client at once: rotation with an overlap, and the deletion of single secrets.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY, HOUR, rfc3339 } from '../../src/lib/time.ts'
import { isLiveSecret } from '../../src/oauth/clients/client_secret.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { machineToken, post } from '../support/flow.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wire.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface Shown {
  id: string
  created_at: string
  expires_at?: string
  last_used_at?: string
}
interface Named {
  client_id: string
}
const pathOf = ({ client_id }: Named) => `/admin/clients/${client_id}`
const tryRotation = (client: Named, body?: object) =>
  callAdmin<Record<string, string>>(service, 'POST', `${pathOf(client)}/rotate-secret`, body)
const rotate = async (client: Named, overlap?: string) => {
  const { status, body } = await tryRotation(client, overlap === undefined ? undefined : { overlap })
  expect(status, JSON.stringify(body)).toBe(200)
  return String(body['client_secret'])
}
const holds = async ({ client_id }: Named, client_secret: string) =>
  (await machineToken(service, { client_id, client_secret })).status === 200
const secretsOf = async (client: Named) => (await okAdmin<{ secrets: Shown[] }>(service, 'GET', pathOf(client))).secrets
const end = (client: Named, id = '') => callAdmin(service, 'DELETE', `${pathOf(client)}/secrets/${id}`)

describe('rotation', () => {
  test('C41 with an overlap, the earlier secret is accepted until its expiry and refused from that second on', async () => {
    const client = await addClient(service)
    const next = await rotate(client, '1h')
    const expires = Date.parse((await secretsOf(client))[1]?.expires_at ?? '') / 1000
    service.advance(expires - service.app.clock.now() - 60)
    expect(await holds(client, client.client_secret)).toBe(true)
    service.advance(expires - service.app.clock.now())
    expect(await holds(client, client.client_secret)).toBe(false)
    expect(await holds(client, next)).toBe(true)
    expect((await secretsOf(client)).length).toBe(1)
    const secret = { id: 'x', hash: 'x', created_at: 0, expires_at: expires }
    expect([isLiveSecret(secret, expires - 1), isLiveSecret(secret, expires)]).toEqual([true, false])
  })

  test('without an overlap, with 0s or with an empty object, every earlier secret is revoked at once', async () => {
    for (const body of [undefined, {}, { overlap: '0s' }]) {
      const client = await addClient(service)
      const second = await rotate(client, '1h')
      const third = String((await tryRotation(client, body)).body['client_secret'])
      for (const secret of [client.client_secret, second]) expect(await holds(client, secret)).toBe(false)
      expect(await holds(client, third)).toBe(true)
      expect((await secretsOf(client)).length).toBe(1)
    }
  })

  test('a second rotation with an overlap does not extend a secret that already expires', async () => {
    const client = await addClient(service)
    await rotate(client, '1h')
    const [, first] = await secretsOf(client)
    await rotate(client, '24h')
    expect((await secretsOf(client)).map(({ expires_at }) => expires_at)).toEqual([
      undefined,
      expect.any(String),
      first?.expires_at,
    ])
  })

  test.each([
    ['no duration', 'soon', 'overlap must be a duration such as 10s, 5m or 1h'],
    ['negative', '-1h', 'overlap must be a duration such as 10s, 5m or 1h'],
    ['no text', 5, 'overlap must be a duration such as 10s, 5m or 1h'],
    ['longer than 90 days', '91d', 'overlap must be at most 2160h'],
  ])('C42 an overlap that is %s is refused and changes nothing', async (_, overlap, description) => {
    const client = await addClient(service)
    const before = await secretsOf(client)
    const { status, body } = await tryRotation(client, { overlap })
    expect([status, body['error'], body['error_description']]).toEqual([400, 'invalid_request', description])
    expect(await secretsOf(client)).toEqual(before)
    expect(await holds(client, client.client_secret)).toBe(true)
  })

  test('C43 a sixth live secret is refused and changes nothing; an expired secret does not count', async () => {
    const client = await addClient(service)
    for (const overlap of ['1h', '24h', '24h', '24h']) await rotate(client, overlap)
    const before = await secretsOf(client)
    expect(before.length).toBe(5)
    const { status, body } = await tryRotation(client, { overlap: '1h' })
    expect([status, body['error']]).toEqual([409, 'conflict'])
    expect(await secretsOf(client)).toEqual(before)
    service.advance(HOUR + 1)
    await rotate(client, '1h')
    expect((await secretsOf(client)).length).toBe(5)
  })

  test('C43 of eight rotations at the same time at most four succeed, and every secret of an answer is accepted', async () => {
    const client = await addClient(service)
    const answers = await Promise.all(Array.from({ length: 8 }, () => tryRotation(client, { overlap: '1h' })))
    const given = answers.flatMap(({ status, body }) => (status === 200 ? [String(body['client_secret'])] : []))
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true)
    expect(given.length).toBeGreaterThan(0)
    expect(given.length).toBeLessThanOrEqual(4)
    expect((await secretsOf(client)).length).toBe(given.length + 1)
    for (const secret of [client.client_secret, ...given]) expect(await holds(client, secret)).toBe(true)
  })

  test('rotating the secret of a client without a secret is refused', async () => {
    const client = await addClient(service, { token_endpoint_auth_method: 'none' })
    expect((await tryRotation(client)).status).toBe(400)
    expect(await okAdmin(service, 'GET', pathOf(client))).not.toHaveProperty('secrets')
    expect(await okAdmin(service, 'GET', `${pathOf(client)}/secrets`)).toEqual([])
  })

  test('C45 every rotation and every deletion of a secret is an audit event with the id of the secret, never its value', async () => {
    const client = await addClient(service)
    const { body } = await tryRotation(client, { overlap: '24h' })
    const [current, earlier] = await secretsOf(client)
    expect(body['secret_id']).toBe(current?.id)
    await end(client, earlier?.id)
    const own = ({ client_id }: Named) => client_id === client.client_id
    const events = [
      (await eventsOf(service, 'client_secret_rotated')).find(own),
      (await eventsOf(service, 'client_secret_ended')).find(own),
    ]
    expect(events).toMatchObject([
      { actor_id: 'admin', detail: { secret_id: current?.id, earlier_until: earlier?.expires_at } },
      { actor_id: 'admin', detail: { secret_id: earlier?.id } },
    ])
    for (const secret of [client.client_secret, String(body['client_secret'])])
      expect(JSON.stringify(events)).not.toContain(secret)
  })
})

describe('the secrets of a client', () => {
  test('C45 GET and the list show the secrets of a client, newest first, without values and hashes', async () => {
    const client = await addClient(service)
    const second = await rotate(client, '24h')
    const shown = await secretsOf(client)
    expect(shown).toEqual([
      { id: expect.any(String), created_at: expect.any(String) },
      { id: client.secrets?.[0]?.id, created_at: rfc3339(client.issued_at), expires_at: expect.any(String) },
    ])
    expect(await okAdmin(service, 'GET', `${pathOf(client)}/secrets`)).toEqual(shown)
    const stored = await service.app.store.findClient(client)
    for (const secret of [client.client_secret, second, ...(stored?.secrets ?? []).map(({ hash }) => hash)])
      expect(JSON.stringify(shown)).not.toContain(secret)
  })

  test('each secret can be deleted alone, including the current one, and is refused afterwards', async () => {
    const client = await addClient(service)
    const second = await rotate(client, '24h')
    const [current] = await secretsOf(client)
    expect((await end(client, current?.id)).status).toBe(204)
    expect([await holds(client, second), await holds(client, client.client_secret)]).toEqual([false, true])
    expect((await end(client, current?.id)).status).toBe(404)
  })

  test('C44 the last secret cannot be deleted', async () => {
    const client = await addClient(service)
    const [only] = await secretsOf(client)
    const { status, body } = await end(client, only?.id)
    expect([status, body['error']]).toEqual([409, 'conflict'])
    expect(body['error_description']).toMatch(/rotate it .* or suspend the client/)
    expect(await holds(client, client.client_secret)).toBe(true)
  })

  test('C44 of two secrets that are deleted at the same time one stays', async () => {
    const client = await addClient(service)
    await rotate(client, '24h')
    const ended = await Promise.all((await secretsOf(client)).map(({ id }) => end(client, id)))
    expect(ended.map(({ status }) => status).sort()).toEqual([204, 409])
    expect((await secretsOf(client)).length).toBe(1)
  })

  test('C44 the id of a secret of another client is not found', async () => {
    const [client, other] = [await addClient(service), await addClient(service)]
    await rotate(client, '24h')
    const [, earlier] = await secretsOf(client)
    expect((await end(other, earlier?.id)).status).toBe(404)
    expect(await holds(client, client.client_secret)).toBe(true)
  })

  test('an update of the client keeps its secrets and their times of use', async () => {
    const client = await addClient(service)
    await rotate(client, '24h')
    expect(await holds(client, client.client_secret)).toBe(true)
    await eventually(async () => (await secretsOf(client))[1]?.last_used_at !== undefined, 2000)
    const before = await secretsOf(client)
    await okAdmin(service, 'PATCH', pathOf(client), { client_name: 'Renamed' })
    expect(await secretsOf(client)).toEqual(before)
  })

  test('both secrets authenticate a client at introspection and revocation', async () => {
    const client = await addClient(service)
    const second = await rotate(client, '24h')
    for (const client_secret of [client.client_secret, second])
      for (const path of ['/oauth/introspect', '/oauth/revoke'])
        expect((await post(service.issuer + path, { ...client, client_secret }, { token: 'x' })).status).toBe(200)
  })
})

describe('last_used_at', () => {
  const lastUse = async (client: Named) => (await secretsOf(client)).map(({ last_used_at }) => last_used_at)

  test('last_used_at is the last use of the secret that was used, and is written at most once an hour', async () => {
    const client = await addClient(service)
    await rotate(client, `${30 * 24}h`)
    await holds(client, client.client_secret)
    await eventually(async () => (await lastUse(client))[1] !== undefined, 2000)
    const [, first] = await lastUse(client)
    for (let n = 0; n < 20; n++) await holds(client, client.client_secret)
    service.advance(HOUR - 60)
    await holds(client, client.client_secret)
    expect(await lastUse(client)).toEqual([undefined, first])
    service.advance(60 + 5)
    await holds(client, client.client_secret)
    await eventually(async () => (await lastUse(client))[1] !== first, 2000)
    expect(await lastUse(client)).toEqual([undefined, expect.any(String)])
  })

  test('a refused request does not set last_used_at', async () => {
    const client = await addClient(service)
    await okAdmin(service, 'PATCH', `${pathOf(client)}/suspend`)
    expect(await holds(client, client.client_secret)).toBe(false)
    await okAdmin(service, 'PATCH', `${pathOf(client)}/reactivate`)
    service.advance(DAY)
    expect(await lastUse(client)).toEqual([undefined])
  })
})
