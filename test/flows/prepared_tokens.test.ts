// Prepared tokens: an answer that was prepared is the one that the rules give, whatever was changed before it.
import fc from 'fast-check'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { unavailable } from '../../src/lib/error.ts'
import { takeLive } from '../../src/server/reload.ts'
import { callAdmin, metricOf, okAdmin } from '../support/admin.ts'
import { dpop, type ProofKey, proofKey } from '../support/dpop.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

const RUNS = 8
const NAMES = ['one', 'two', 'three']

const someNames = fc.subarray(NAMES, { minLength: 1 }).map((names) => names.join(' '))
const aRequest = fc.record({
  client: fc.nat(1),
  resource: fc.option(fc.nat(1), { nil: undefined, freq: 4 }),
  scope: fc.option(fc.oneof(someNames, fc.constantFrom('', 'four', 'openid one')), { nil: undefined, freq: 4 }),
  isBasic: fc.boolean(),
  hasOldSecret: fc.constantFrom(false, false, false, true),
  /** Which key its proof has, if it has one. */
  proof: fc.constantFrom(undefined, undefined, 0, 1),
})
type Asked = typeof aRequest extends fc.Arbitrary<infer T> ? T : never

/** Decides between two values of a change. */
const isLong = (names: string) => names.includes(' ')

/** Changes of what a decision depends on. */
const CHANGES = {
  scope: (names: string, i: number) => update(i, { scope: names }),
  // Refused when it is so already.
  status: (names: string, i: number) =>
    callAdmin(
      service,
      'PATCH',
      `/admin/clients/${at(clients, i).client_id}/${isLong(names) ? 'suspend' : 'reactivate'}`,
    ),
  grants: (_: string, i: number) => update(i, { grant_types: ['client_credentials', 'refresh_token'].slice(i) }),
  binding: (names: string, i: number) => update(i, { dpop_bound_access_tokens: isLong(names) }),
  async secret(_: string, i: number) {
    const client = at(clients, i % clients.length)
    const path = `/admin/clients/${client.client_id}/rotate-secret`
    const { client_secret } = await okAdmin<{ client_secret: string }>(service, 'POST', path, {
      overlap: i === 0 ? '0s' : '1m',
    })
    Object.assign(client, { client_secret, old: client.client_secret })
  },
  catalog: (names: string, i: number) =>
    okAdmin(service, 'PATCH', `/admin/resources/${at(resources, i).slug}`, {
      scopes: names.split(' ').map((name) => ({ name, description: name })),
    }),
  typ: (names: string, i: number) =>
    okAdmin(service, 'PATCH', `/admin/resources/${at(resources, i).slug}`, {
      access_token_typ: isLong(names) ? 'JWT' : 'at+jwt',
    }),
  key: () => okAdmin(service, 'POST', '/admin/keys/rotate'),
  async settings() {
    const { config } = service.app
    takeLive(service.app, {
      ...config,
      oauth: { ...config.oauth, narrow_scopes: !config.oauth.narrow_scopes },
    })
  },
  async time() {
    now += 61
  },
}
const aChange = fc.record({
  what: fc.constantFrom(...(Object.keys(CHANGES) as (keyof typeof CHANGES)[])),
  names: someNames,
  which: fc.nat(1),
})

let proofKeys: ProofKey[]
let now = Math.floor(Date.now() / 1000)
let service: TestService
let clients: { client_id: string; client_secret: string; old?: string }[]
let resources: { slug: string; uri: string }[]

beforeAll(async () => {
  service = await startService()
  proofKeys = [await proofKey(), await proofKey()]
  vi.spyOn(service.app.clock, 'now').mockImplementation(() => now)
})
afterAll(() => service.close())

const at = <T>(list: readonly T[], i: number): T => list[i] as T
const update = (i: number, changes: object) =>
  okAdmin(service, 'PATCH', `/admin/clients/${at(clients, i).client_id}`, changes)

/** Sends a request, and returns what it is answered without what is new in every answer. `more` are parameters that nothing reads, with which no answer is prepared. */
async function send(asked: Asked, more: Record<string, string> = {}) {
  const { client, resource, scope, isBasic, hasOldSecret, proof } = asked
  const { client_id, client_secret, old = 'no secret' } = at(clients, client)
  const secret = hasOldSecret ? old : client_secret
  const response = await fetch(`${service.issuer}/oauth/token`, {
    method: 'POST',
    headers: {
      ...(isBasic ? { authorization: `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}` } : {}),
      ...(proof === undefined ? {} : await dpop(service, at(proofKeys, proof))),
    },
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      ...(isBasic ? {} : { client_id, client_secret: secret }),
      ...(resource === undefined ? {} : { resource: at(resources, resource).uri }),
      ...(scope === undefined ? {} : { scope }),
      ...more,
    }),
  })
  const { access_token, ...body } = (await response.json()) as { access_token?: string }
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !/^(date|x-request-id)$/.test(name)))
  delete (body as Record<string, unknown>)['request_id']
  const token = access_token && { header: decodeProtectedHeader(access_token), claims: decodeJwt(access_token) }
  const jti = token ? token.claims.jti : undefined
  if (token) delete token.claims.jti
  const record = jti && (await service.app.store.findIssuance({ id: jti }))
  return { status: response.status, headers, body, token, record: record && { ...record, id: '' } }
}

const asked: Asked = { client: 0, resource: 0, scope: 'one', isBasic: false, hasOldSecret: false, proof: undefined }

/** A machine client and a resource, for which a token is prepared. */
async function prepare(fields: object = {}) {
  clients = [await addClient(service, { grant_types: ['client_credentials'], scope: 'one' }, fields)]
  resources = [await addResource(service, { scopes: ['one'] })]
  expect(await send(asked)).toMatchObject({ status: 200 })
}

test('a prepared token counts: for the limits, metrics and activity of its client', async () => {
  await prepare({ limits: { tokens_per_day: 2 } })
  const series = 'ext_client_credentials_issued_total'
  const before = await metricOf(service, series)
  expect(await send(asked)).toMatchObject({ status: 200 })
  expect(await metricOf(service, series)).toBe(before + 1)
  expect(await send(asked)).toMatchObject({ status: 429, body: { error: 'slow_down' } })
  expect(service.app.activity.list()[0]).toMatchObject({
    client_id: clients[0]?.client_id,
    steps: expect.arrayContaining([expect.objectContaining({ step: 'token', reason: 'client_tokens_per_day' })]),
  })
})

test('a prepared token whose record cannot be stored is not answered, and gives its place in the limit back', async () => {
  await prepare({ limits: { tokens_per_day: 2 } })
  const failing = vi
    .spyOn(service.app.store, 'recordIssuance')
    .mockRejectedValueOnce(unavailable('the storage is away'))
  expect(await send(asked)).toMatchObject({ status: 503, token: undefined })
  failing.mockRestore()
  expect(await send(asked)).toMatchObject({ status: 200 })
})

test('an earlier secret of a client with a prepared token is refused when its time is over', async () => {
  await prepare()
  await CHANGES.secret('', 1)
  expect(await send(asked)).toMatchObject({ status: 200 })
  expect(await send({ ...asked, hasOldSecret: true })).toMatchObject({ status: 200 })
  await CHANGES.time()
  expect(await send({ ...asked, hasOldSecret: true })).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  expect(await send(asked)).toMatchObject({ status: 200 })
})

test('the proof of a prepared token is verified, and used once', async () => {
  await prepare()
  expect(await send(asked)).toMatchObject({ body: { token_type: 'Bearer' } })
  const bound: Asked = { ...asked, proof: 0 }
  expect(await send(bound)).toMatchObject({ body: { token_type: 'DPoP' } })
  const { jkt } = at(proofKeys, 0)
  expect(await send(bound)).toMatchObject({ body: { token_type: 'DPoP' }, token: { claims: { cnf: { jkt } } } })
  const again = async (header: string) => {
    const { client_id, client_secret } = at(clients, 0)
    const { uri } = at(resources, 0)
    const form = { grant_type: 'client_credentials', client_id, client_secret, resource: uri, scope: 'one' }
    const init = { method: 'POST', headers: { dpop: header }, body: new URLSearchParams(form) }
    return (await fetch(`${service.issuer}/oauth/token`, init)).json()
  }
  const { dpop: proof } = await dpop(service, at(proofKeys, 0))
  expect(await again(proof)).toMatchObject({ token_type: 'DPoP' })
  const refused = { error: 'invalid_dpop_proof' }
  expect(await again(proof)).toMatchObject(refused)
  const [header] = proof.split('.')
  const { dpop: other } = await dpop(service, at(proofKeys, 1))
  expect(await again([header, ...other.split('.').slice(1)].join('.'))).toMatchObject(refused)
  expect(await again('no proof')).toMatchObject(refused)
})

test('an answer that was prepared is the one that the rules give, after any changes', async () => {
  let prepared = 0
  const { get } = service.app.prepared
  vi.spyOn(service.app.prepared, 'get').mockImplementation((key) => {
    const found = get.call(service.app.prepared, key)
    if (found) prepared++
    return found
  })
  const some = fc.array(aRequest, { minLength: 2, maxLength: 2 })
  await fc.assert(
    fc.asyncProperty(some, fc.array(aChange, { minLength: 5, maxLength: 9 }), async (requests, changes) => {
      const machine = () => addClient(service, { grant_types: ['client_credentials'], scope: 'one two' })
      clients = [await machine(), await machine()]
      resources = [await addResource(service, { scopes: NAMES }), await addResource(service, { scopes: ['one'] })]
      for (const { what, names, which } of changes) {
        // Twice, so that the second one is prepared where it can be. The next change finds it prepared.
        // And with another proof, or without one: the text of the request is the same.
        for (const each of requests.flatMap((each) => [
          each,
          { ...each, proof: each.proof === 0 ? undefined : (0 as const) },
        ]))
          for (let i = 0; i < 2; i++) expect(await send(each)).toEqual(await send(each, { note: 'x' }))
        await CHANGES[what](names, which)
      }
    }),
    { numRuns: RUNS },
  )
  // Otherwise nothing was compared.
  expect(prepared).toBeGreaterThan(RUNS)
})
