// Which reads are cached, and which writes make them forget.
import { describe, expect, test, vi } from 'vitest'
import { cached } from '../../src/store/cache.ts'
import { isRead, type OpName, ops } from '../../src/store/operations.ts'
import { aClient, anIdp, anXaaPolicy, aResource, aSubjectMapping, NOW } from '../support/records.ts'

/** The operations over a driver that answers with what the test gives. */
function bench() {
  const call = vi.fn(async (op: OpName, _input: unknown): Promise<unknown> => `answer of ${op}`)
  const { operations, dropCaches } = cached(Object.keys(ops) as OpName[], call)
  const calls = (op: OpName) => call.mock.calls.filter(([name]) => name === op).length
  return { call, operations, dropCaches, calls }
}
type Operations = ReturnType<typeof bench>['operations']
const client = aClient()
const federated = aClient({ federated_credentials: [{ issuer: 'https://ci.example', subject: 'job' }] })
const resource = aResource()
const idp = anIdp()
const policy = anXaaPolicy(idp)
const mapping = aSubjectMapping(idp)

describe('reads', () => {
  test('a cached read queries the driver once for each key', async () => {
    const { operations, calls } = bench()
    await operations.findClient({ client_id: 'a' })
    expect(await operations.findClient({ client_id: 'a' })).toBe('answer of findClient')
    expect(calls('findClient')).toBe(1)
    await operations.findClient({ client_id: 'b' })
    expect(calls('findClient')).toBe(2)
  })

  test('a cached client equals the stored one, and clients with the same list share it', async () => {
    const { call, operations } = bench()
    const jwks = { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] }
    const find = async (client_id: string) => {
      const stored = aClient({ client_id, jwks, last_used_at: undefined })
      call.mockResolvedValueOnce(structuredClone(stored))
      const found = await operations.findClient({ client_id })
      expect(found).toEqual(stored)
      return found
    }
    const [one, other] = [await find('one'), await find('other')]
    expect(one?.grant_types).toBe(other?.grant_types)
    expect(await operations.findClient({ client_id: 'one' })).toBe(one)
  })

  test('a name that is longer than any stored one is absent without a lookup', async () => {
    const { operations, calls } = bench()
    const long = 'x'.repeat(60_000)
    expect(await operations.findResource({ uri: `https://${long}` })).toBe(undefined)
    expect(await operations.findClient({ client_id: long })).toBe(undefined)
    expect(await operations.findSubjectUser({ issuer: 'https://idp.example', sub: long })).toBe(undefined)
    expect([calls('findResource'), calls('findClient'), calls('findSubjectUser')]).toEqual([0, 0, 0])
  })

  test('the longest stored name is looked up', async () => {
    const { operations, calls } = bench()
    await operations.findSubjectUser({ issuer: 'i'.repeat(2048), sub: 's'.repeat(1024) })
    await operations.findFederatedClients({ issuers: ['i'.repeat(2048), 'd'.repeat(255)], subject: 's'.repeat(1024) })
    expect([calls('findSubjectUser'), calls('findFederatedClients')]).toEqual([1, 1])
  })

  test('a list is cached under its whole filter', async () => {
    const { operations, calls } = bench()
    await operations.listResources({ limit: 10, offset: 0 })
    await operations.listResources({ limit: 10, offset: 10 })
    await operations.listResources({ limit: 10, offset: 0, backend_kind: 'mint' })
    expect(calls('listResources')).toBe(3)
  })

  test('data that decides whether a token is valid is never cached', async () => {
    const { operations, calls } = bench()
    const id = 'x'
    for (let i = 0; i < 2; i++) {
      await operations.findTokenState({ id })
      await operations.findCode({ id })
      await operations.findRefreshToken({ id })
      await operations.findSession({ id, now: NOW })
      await operations.findUser({ id })
      await operations.findConsent({ user_id: 'u', client_id: 'c', resource_id: 'r' })
    }
    for (const op of [
      'findTokenState',
      'findCode',
      'findRefreshToken',
      'findSession',
      'findUser',
      'findConsent',
    ] as const)
      expect(calls(op), op).toBe(2)
  })
})

describe('writes', () => {
  const reads = {
    findClient: (o: Operations) => o.findClient({ client_id: client.client_id }),
    findFederatedClients: (o: Operations) =>
      o.findFederatedClients({ issuers: ['https://ci.example'], subject: 'job' }),
    findResource: (o: Operations) => o.findResource({ uri: resource.uri ?? '' }),
    listResources: (o: Operations) => o.listResources({ limit: 1, offset: 0 }),
    findSetting: (o: Operations) => o.findSetting({ name: 'dcr' }),
    findIdpByIssuer: (o: Operations) => o.findIdpByIssuer({ issuer: idp.issuer }),
    listPolicies: (o: Operations) => o.listPolicies({ idp_id: idp.id }),
    findSubjectMapping: (o: Operations) => o.findSubjectMapping(mapping),
  }
  type Write = (o: Operations) => Promise<unknown>
  const writes: [string, Write, (keyof typeof reads)[]][] = [
    ['createClient', (o) => o.createClient(client), ['findClient']],
    ['updateClient', (o) => o.updateClient(client), ['findClient']],
    ['createClient', (o) => o.createClient(federated), ['findFederatedClients']],
    ['updateClient', (o) => o.updateClient(federated), ['findFederatedClients']],
    [
      'deleteClient',
      (o) => o.deleteClient({ by: 'ada', client_id: client.client_id, force: true, now: NOW, oldest: '' }),
      ['findClient', 'findFederatedClients', 'findResource', 'listResources'],
    ],
    ['createResource', (o) => o.createResource(resource), ['findResource', 'listResources']],
    ['updateResource', (o) => o.updateResource(resource), ['findResource', 'listResources']],
    [
      'updateResource',
      (o) => o.updateResource({ ...resource, uri_before: 'https://before.example.com' }),
      ['findClient', 'findResource', 'listResources'],
    ],
    [
      'deleteResource',
      (o) => o.deleteResource({ by: 'ada', id: resource.id, now: NOW, cascade: false }),
      ['findResource', 'listResources'],
    ],
    ['saveSetting', (o) => o.saveSetting({ name: 'dcr', value: 'x', now: NOW }), ['findSetting']],
    ['createIdp', (o) => o.createIdp(idp), ['findIdpByIssuer']],
    ['updateIdp', (o) => o.updateIdp(idp), ['findIdpByIssuer']],
    ['deleteIdp', (o) => o.deleteIdp({ id: idp.id }), ['findIdpByIssuer', 'listPolicies', 'findSubjectMapping']],
    ['createPolicy', (o) => o.createPolicy(policy), ['listPolicies']],
    ['updatePolicy', (o) => o.updatePolicy(policy), ['listPolicies']],
    ['deletePolicy', (o) => o.deletePolicy({ id: policy.id }), ['listPolicies']],
    ['createSubjectMapping', (o) => o.createSubjectMapping(mapping), ['findSubjectMapping']],
    ['deleteSubjectMapping', (o) => o.deleteSubjectMapping({ id: mapping.id }), ['findSubjectMapping']],
  ]

  test.each(writes)('%s invalidates the cached reads of its data, and no others', async (_name, write, forgotten) => {
    const { operations, calls } = bench()
    for (const read of Object.values(reads)) await read(operations)
    await write(operations)
    for (const [name, read] of Object.entries(reads)) {
      await read(operations)
      expect(calls(name as OpName), name).toBe(forgotten.includes(name as keyof typeof reads) ? 2 : 1)
    }
  })

  test('a read that follows a write is never answered with the data from before the write', async () => {
    const { operations, call } = bench()
    await reads.findClient(operations)
    let commit: (value: unknown) => void = () => {}
    call.mockReturnValueOnce(
      new Promise((resolve) => {
        commit = resolve
      }),
    )
    const write = operations.updateClient(client)
    call.mockResolvedValueOnce('new')
    expect(await reads.findClient(operations)).toBe('new')
    commit('updated')
    await write
  })

  test('a failed write invalidates cached reads too, because it may have been committed', async () => {
    const { operations, call, calls } = bench()
    await reads.findClient(operations)
    call.mockRejectedValueOnce(new Error('the thread died'))
    await expect(operations.updateClient(client)).rejects.toThrow('the thread died')
    await reads.findClient(operations)
    expect(calls('findClient')).toBe(2)
  })

  test('a read that was in flight during a write is not cached', async () => {
    const { operations, call, calls } = bench()
    let answer: (value: unknown) => void = () => {}
    call.mockReturnValueOnce(new Promise((resolve) => (answer = resolve)))
    const old = reads.findClient(operations)
    await operations.updateClient(client)
    answer('old')
    expect(await old).toBe('old')
    expect(await reads.findClient(operations)).toBe('answer of findClient')
    expect(calls('findClient')).toBe(2)
  })

  test('a read that begins during a write, before its commit, is not cached', async () => {
    const { operations, call } = bench()
    let commit: (value: unknown) => void = () => {}
    call.mockReturnValueOnce(new Promise((resolve) => (commit = resolve)))
    const write = operations.updateClient(client)
    call.mockResolvedValueOnce('old')
    expect(await reads.findClient(operations)).toBe('old')
    commit('updated')
    await write
    expect(await reads.findClient(operations)).toBe('answer of findClient')
  })
})

test('dropCaches() invalidates all caches', async () => {
  const { operations, dropCaches, calls } = bench()
  await operations.findClient({ client_id: 'a' })
  await operations.findSetting({ name: 'a' })
  dropCaches()
  await operations.findClient({ client_id: 'a' })
  await operations.findSetting({ name: 'a' })
  expect([calls('findClient'), calls('findSetting')]).toEqual([2, 2])
})

test.each(['findClient', 'listUsers', 'countActiveClients', 'readHealth'])('%s is classified as a read', (name) => {
  expect(isRead(name)).toBe(true)
})
test.each(['createClient', 'redeemCode', 'rehashPassword', 'recordAudit', 'revokeFamily', 'rotateRefreshToken'])(
  '%s is classified as a write',
  (name) => {
    expect(isRead(name)).toBe(false)
  },
)
