// Limits of single clients: requests per second and tokens per day.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DAY } from '../../src/lib/time.ts'
import type { Client, ClientLimits } from '../../src/records/client.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { addKeyedClient, tryAssertion } from '../support/assertion.ts'
import {
  type Answer,
  authorize,
  expectRefused,
  introspect,
  machineToken,
  post,
  redeem,
  refresh,
} from '../support/flow.ts'
import { spread, tally } from '../support/fronts.ts'
import { idpKey } from '../support/idp.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

const MANY = 12
let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const limited = (limits: ClientLimits, fields: Record<string, unknown> = {}) => addClient(service, fields, { limits })
const asks = (client: Parameters<typeof machineToken>[1], times = MANY, at = service) =>
  spread(() => machineToken(at, client), times)
const statuses = (answers: readonly Answer[]) => tally(answers.map(({ status }) => status))
const waitOf = ({ headers }: Answer) => Number(headers.get('retry-after'))

// First, because later tests advance the clock.
describe('the admin API', () => {
  const machine = {
    client_name: 'Limited',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
  }
  const made = (more: object = {}) => okAdmin<Client>(service, 'POST', '/admin/clients', { ...machine, ...more })
  const patch = (client: Client, limits: unknown) =>
    okAdmin<Client>(service, 'PATCH', `/admin/clients/${client.client_id}`, { limits })

  test('sets, merges and clears limits', async () => {
    const client = await made({ limits: { requests_per_second: 5, tokens_per_day: 1000 } })
    expect(client.limits).toEqual({ requests_per_second: 5, tokens_per_day: 1000 })
    const slower = await patch(client, { requests_per_second: 0.5 })
    expect(slower.limits).toEqual({ requests_per_second: 0.5, tokens_per_day: 1000 })
    expect((await patch(client, { tokens_per_day: null })).limits).toEqual({ requests_per_second: 0.5 })
    expect(await patch(client, { requests_per_second: null })).not.toHaveProperty('limits')
    await patch(client, { tokens_per_day: 1 })
    expect(await patch(client, null)).not.toHaveProperty('limits')
    expect((await eventsOf(service, 'client_updated'))[0]).toMatchObject({ detail: { fields: ['limits'] } })
  })

  test.each([
    [{ requests_per_second: -1 }],
    [{ requests_per_second: 'many' }],
    [{ tokens_per_day: 1.5 }],
    [{ tokens: 1 }],
    [{ tokens_per_day: 1e12 }],
    [7],
  ])('refuses %j', async (limits) => {
    const { client_id } = await made()
    const { status, body } = await callAdmin(service, 'PATCH', `/admin/clients/${client_id}`, { limits })
    expect([status, body['error']]).toEqual([400, 'invalid_request'])
  })
})

describe('requests per second', () => {
  test('a client past its limit gets 429 slow_down with Retry-After, and other clients are served', async () => {
    const [client, other] = [await limited({ requests_per_second: 1 }), await addClient(service)]
    const answers = await asks(client)
    expect(statuses(answers)['200']).toBeGreaterThanOrEqual(2)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThanOrEqual(MANY / 2)
    for (const answer of refused) {
      expectRefused(answer, 'slow_down', 429)
      expect(waitOf(answer)).toBeGreaterThanOrEqual(1)
    }
    expect(statuses(await asks(other))).toEqual({ 200: MANY })
  })

  test('introspection and revocation count too', async () => {
    const client = await limited({ requests_per_second: 0.001 })
    expect((await machineToken(service, client)).status).toBe(200)
    for (const path of ['introspect', 'revoke'])
      expectRefused(await post(`${service.issuer}/oauth/${path}`, client, { token: 'x' }), 'slow_down', 429)
  })

  test('requests with a wrong secret do not count, so that an attacker cannot use up the limit', async () => {
    const client = await limited({ requests_per_second: 0.001 })
    const attempts = [
      { ...client, client_secret: 'wrong' },
      { client_id: client.client_id, client_secret: '' },
    ]
    for (const attempt of attempts) expect(statuses(await asks(attempt))).toEqual({ 401: MANY })
    expect((await machineToken(service, client)).status).toBe(200)
  })

  test('a limit that an operator removes or changes is in force at once', async () => {
    const client = await limited({ requests_per_second: 0.001 })
    expect(statuses(await asks(client))['429']).toBe(MANY - 1)
    const at = `/admin/clients/${client.client_id}`
    await okAdmin(service, 'PATCH', at, { limits: null })
    expect(statuses(await asks(client))).toEqual({ 200: MANY })
    await okAdmin(service, 'PATCH', at, { limits: { requests_per_second: 0.001 } })
    expect(statuses(await asks(client))['429']).toBeGreaterThan(0)
  })
})

describe('a public client', () => {
  const scene = async (limits: ClientLimits) => {
    const client = await limited(limits, { token_endpoint_auth_method: 'none' })
    const [user, resource] = [await addUser(service), await addResource(service)]
    const { client_id } = client
    const authorized = await authorize(service, client, user, { resource: resource.uri })
    return { client: { client_id }, authorized }
  }

  test('is limited by its codes and refresh tokens; a refused one stays usable', async () => {
    const { client, authorized } = await scene({ tokens_per_day: 2 })
    const { body } = await redeem(service, client, authorized)
    const next = await refresh(service, client, body['refresh_token'])
    expect(next.status).toBe(200)
    expectRefused(await refresh(service, client, next.body['refresh_token']), 'slow_down', 429)
    service.advance(DAY)
    expect((await refresh(service, client, next.body['refresh_token'])).status).toBe(200)
  })

  test('is not limited by requests of an attacker who knows its client_id', async () => {
    const { client, authorized } = await scene({ requests_per_second: 0.001, tokens_per_day: 1 })
    const guesses = await spread((i) => redeem(service, client, { ...authorized, code: `wrong-${i}` }), MANY)
    expect(statuses(guesses)).toEqual({ 400: MANY })
    expect(statuses(await spread(() => refresh(service, client, 'wrong'), MANY))).toEqual({ 400: MANY })
    const { status, body } = await redeem(service, client, authorized)
    expect(status).toBe(200)
    expectRefused(await refresh(service, client, body['refresh_token']), 'slow_down', 429)
  })
})

describe('tokens per day', () => {
  test('bound the tokens of a client until midnight (UTC), and nothing else', async () => {
    const client = await limited({ tokens_per_day: 3 })
    const answers = await asks(client)
    expect(statuses(answers)).toEqual({ 200: 3, 429: MANY - 3 })
    const refused = answers.find(({ status }) => status === 429) as Answer
    expect(waitOf(refused)).toBeLessThanOrEqual(DAY)
    const token = answers.find(({ status }) => status === 200)?.body['access_token']
    expect(await introspect(service, client, token)).toMatchObject({ active: true })
    service.advance(waitOf(refused))
    expect(statuses(await asks(client))['200']).toBe(3)
  })

  test('do not count a token that was refused', async () => {
    const client = await limited({ tokens_per_day: 1 })
    expectRefused(await machineToken(service, client, { scope: 'unknown' }), 'invalid_scope')
    const { recordIssuance } = service.app.store
    Object.assign(service.app.store, { recordIssuance: () => Promise.reject(new Error('the disk is full')) })
    expect((await machineToken(service, client)).status).toBe(500)
    Object.assign(service.app.store, { recordIssuance })
    expect(statuses(await asks(client, 3))).toEqual({ 200: 1, 429: 2 })
  })
})

describe('the configuration', () => {
  const start = (enabled: string) =>
    startService({
      SERVICE_RATE_LIMIT_ENABLED: enabled,
      SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
      SERVICE_RATE_LIMIT_BURST: '100000',
      SERVICE_RATE_LIMIT_PER_CLIENT_REQUESTS_PER_SECOND: '0.001',
      SERVICE_RATE_LIMIT_PER_CLIENT_TOKENS_PER_DAY: '2',
    })

  test('has the limits of clients without limits of their own', async () => {
    const at = await start('true')
    const [plain, own, free] = [
      await addClient(at),
      await addClient(at, {}, { limits: { requests_per_second: 0 } }),
      await addClient(at, {}, { limits: { requests_per_second: 0, tokens_per_day: 0 } }),
    ]
    expect(statuses(await asks(plain, MANY, at))).toEqual({ 200: 1, 429: MANY - 1 })
    expect(statuses(await asks(own, MANY, at))).toEqual({ 200: 2, 429: MANY - 2 })
    expect(statuses(await asks(free, MANY, at))).toEqual({ 200: MANY })
    await at.close()
  })

  test('without rate_limit.enabled has no limits, and those of clients hold', async () => {
    const at = await start('false')
    const [plain, own] = [await addClient(at), await addClient(at, {}, { limits: { tokens_per_day: 3 } })]
    expect(statuses(await asks(plain, MANY, at))).toEqual({ 200: MANY })
    expect(statuses(await asks(own, MANY, at))).toEqual({ 200: 3, 429: MANY - 3 })
    await at.close()
  })

  test.each([
    ['one front thread', '1'],
    ['several front threads', '2'],
  ])(
    'requests past the limit of a client, and those of a suspended client, do not use up the limit of all requests, with %s',
    async (_, threads) => {
      const at = await startService({
        SERVICE_SERVER_FRONT_THREADS: threads,
        SERVICE_RATE_LIMIT_ENABLED: 'true',
        SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '1',
        SERVICE_RATE_LIMIT_BURST: '5',
      })
      const [looping, other] = [await addClient(at, {}, { limits: { requests_per_second: 0.01 } }), await addClient(at)]
      for (let i = 0; i < MANY; i++) expect((await machineToken(at, looping)).status).toBe(i === 0 ? 200 : 429)
      const suspended = await addClient(at)
      await okAdmin(at, 'PATCH', `/admin/clients/${suspended.client_id}/suspend`)
      for (let i = 0; i < MANY; i++) expectRefused(await machineToken(at, suspended), 'invalid_client', 401)
      const keyed = await addKeyedClient(at)
      await okAdmin(at, 'PATCH', `/admin/clients/${keyed.client_id}/suspend`)
      for (let i = 0; i < MANY; i++) expectRefused(await tryAssertion(at, keyed), 'invalid_client', 401)
      expect(statuses(await asks(other, 4, at))).toEqual({ 200: 4 })
      await at.close()
    },
  )

  test('assertions for a suspended client that it did not sign use up the limit of all requests', async () => {
    const at = await startService({
      SERVICE_RATE_LIMIT_ENABLED: 'true',
      SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '1',
      SERVICE_RATE_LIMIT_BURST: '5',
    })
    const keyed = await addKeyedClient(at)
    await okAdmin(at, 'PATCH', `/admin/clients/${keyed.client_id}/suspend`)
    const forged = await spread(async () => tryAssertion(at, keyed, {}, await idpKey()), MANY)
    expect(statuses(forged)['429']).toBeGreaterThan(0)
    await at.close()
  })
})
