// Rules of deleted clients and resources, which can be restored.
import { expect, test } from 'vitest'
import { idFloor, idTime, newId } from '../../../src/lib/id.ts'
import type { Client } from '../../../src/records/client.ts'
import type { Resource } from '../../../src/records/resource.ts'
import { RESTORABLE } from '../../../src/store/expiry.ts'
import { aClient, aDeviceRequest, aLink, aProvider, aResource, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { approved } from './scenes.ts'

const AT = NOW + 10

export function deletedRules(bench: Bench): void {
  const client = async (more: Partial<Client> = {}) => {
    const made = aClient(more)
    await bench.store.createClient(made)
    return made
  }
  const resource = async (more: Partial<Resource> = {}) => {
    const made = aResource(more)
    await bench.store.createResource(made)
    return made
  }
  const naming = (exchange: string[], runtime: string[] = []): Resource['policy'] => ({
    exchange: { allowed_client_ids: exchange },
    runtime: { client_ids: runtime },
    connect: { allowed_return_urls: ['https://app.example.com'] },
  })
  const removeClient = ({ client_id }: Client) =>
    bench.store.deleteClient({ client_id, force: true, now: AT, oldest: idFloor(0), by: 'ada' })
  const removeResource = ({ id }: Resource) => bench.store.deleteResource({ id, now: AT, cascade: true, by: 'ada' })
  const findClient = ({ client_id }: Client) => bench.store.findClient({ client_id })
  const keptClient = async ({ client_id: name }: Client) =>
    bench.store.findDeletedClient({ name, after: AT - RESTORABLE })
  const keptResource = async ({ id: name }: Resource) =>
    bench.store.findDeletedResource({ name, after: AT - RESTORABLE })
  const restoreClient = async (gone: Client) => {
    const kept = await keptClient(gone)
    // Ids have the time of the machine.
    const now = idTime(newId())
    return kept && bench.store.restoreClient({ deleted_id: kept.id, client: kept.record, now })
  }
  const restoreResource = async (gone: Resource) => {
    const kept = await keptResource(gone)
    if (!kept) return undefined
    const { id: deleted_id, deleted_at, record } = kept
    return bench.store.restoreResource({ deleted_id, deleted_at, resource: record })
  }
  const listed = async (name: string, after = AT - RESTORABLE) =>
    (await bench.store.listDeleted({ after, limit: 500 })).filter((each) => each.name === name)

  test('a restored client is what it was, with its secrets and its last use, and can be restored once', async () => {
    const gone = await client({
      jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] },
      federated_credentials: [{ issuer: 'https://ci.example.com', subject: newId() }],
      require_pushed_authorization_requests: true,
      last_used_at: undefined,
    })
    await bench.store.touchClient({ client_id: gone.client_id, now: NOW + 5 })
    const policy = naming([gone.client_id], [gone.client_id])
    const { slug } = await resource({ policy })
    expect(await removeClient(gone)).toBe('deleted')
    expect(await findClient(gone)).toBeUndefined()
    expect(await listed(gone.client_id)).toMatchObject([
      { kind: 'client', label: 'Editor', deleted_at: AT, deleted_by: 'ada', lost: [`policy of ${slug}`] },
    ])
    const kept = await keptClient(gone)
    expect(await restoreClient(gone)).toBe('created')
    expect(await findClient(gone)).toEqual({ ...gone, last_used_at: NOW + 5 })
    const [{ issuer, subject } = { issuer: '', subject: '' }] = gone.federated_credentials ?? []
    expect(await bench.store.findFederatedClients({ issuers: [issuer], subject })).toEqual([gone.client_id])
    expect(await listed(gone.client_id)).toEqual([])
    expect(await bench.store.restoreClient({ deleted_id: kept?.id ?? '', client: gone, now: AT })).toBeUndefined()
  })

  test('the id of a deleted client is free at once, and the client that takes it stays', async () => {
    const gone = await client()
    await removeClient(gone)
    const taker = await client({ client_id: gone.client_id, client_name: 'Other' })
    expect(await restoreClient(gone)).toBe('exists')
    expect(await findClient(gone)).toEqual(taker)
    expect(await listed(gone.client_id)).toHaveLength(1)
  })

  test('what users and devices were allowed before the deletion is not redeemed after the restore', async () => {
    const gone = await client()
    const { request } = await approved(bench.store, { client_id: gone.client_id })
    const device = aDeviceRequest({ client_id: gone.client_id })
    await bench.store.createPolledRequest(device)
    const others = aDeviceRequest()
    await bench.store.createPolledRequest(others)
    await removeClient(gone)
    await restoreClient(gone)
    expect(await bench.store.findCode({ id: request.id })).toBeUndefined()
    expect(await bench.store.findPolledRequest({ id: device.id })).toBeUndefined()
    expect(await bench.store.findPolledRequest({ id: others.id })).toEqual(others)
  })

  test('a restored resource is what it was, without its links', async () => {
    const [source, gone, user] = [await resource(), await resource(), aUser()]
    await bench.store.createUser(user)
    const access = { mode: 'restricted' as const, groups: ['staff'], users: [user.id], email_domains: [] }
    const { client_id } = await client()
    const changed = { ...gone, access, policy: naming([client_id], [client_id]) }
    await bench.store.updateResource(changed)
    await bench.store.createFrontingLink({
      link: aLink(source, gone),
      ends: [source, { ...changed, version: 2 }],
      dry_run: false,
    })
    await removeResource(gone)
    expect(await bench.store.findResourceByName({ name: gone.slug })).toBeUndefined()
    expect(await listed(gone.id)).toMatchObject([
      { label: gone.slug, lost: [`fronting link from ${source.slug} to ${gone.slug}`] },
    ])
    expect(await restoreResource(gone)).toBe('created')
    expect(await bench.store.findResourceByName({ name: gone.id })).toEqual({ ...changed, version: 3 })
    expect(await bench.store.listFrontingLinks({ slug: gone.slug })).toEqual([])
    expect(await restoreResource(gone)).toBeUndefined()
  })

  test('a restored resource names neither clients and users that were deleted since nor those that took their ids', async () => {
    const [kept, gone, again, user] = [await client(), await client(), await client(), aUser()]
    await bench.store.createUser(user)
    const ids = [kept, gone, again].map(({ client_id }) => client_id)
    const access = { mode: 'restricted' as const, groups: [], users: [user.id], email_domains: [] }
    const named = await resource({ policy: naming(ids, ids), access })
    await removeResource(named)
    await bench.store.deleteUser({ id: user.id, force: true, now: AT })
    for (const each of [gone, again]) await removeClient(each)
    await client({ client_id: again.client_id, issued_at: AT + 1 })
    expect(await restoreResource(named)).toBe('created')
    expect(await bench.store.findResourceByName({ name: named.id })).toEqual({
      ...named,
      policy: naming([kept.client_id], [kept.client_id]),
      access: { ...access, users: [] },
    })
  })

  test('a resource whose exchange list would become empty is not restored, until one of its clients is', async () => {
    const only = await client()
    const named = await resource({ policy: naming([only.client_id]) })
    await removeResource(named)
    await removeClient(only)
    expect(await restoreResource(named)).toBe('only_exchange')
    expect(await bench.store.findResourceByName({ name: named.id })).toBeUndefined()
    await restoreClient(only)
    expect(await restoreResource(named)).toBe('created')
  })

  test.each(['slug', 'uri'] as const)('the %s of a deleted resource is free at once', async (member) => {
    const gone = await resource()
    await removeResource(gone)
    const taker = await resource({ [member]: gone[member] })
    expect(await restoreResource(gone)).toBe('exists')
    expect(await bench.store.findResourceByName({ name: taker.id })).toEqual(taker)
  })

  test('a deleted broker resource keeps no provider, and cannot be restored without it', async () => {
    const provider = aProvider()
    await bench.store.createProvider(provider)
    const broker = await resource({ backend_kind: 'broker', broker_provider_slug: provider.slug })
    await removeResource(broker)
    expect(await bench.store.deleteProvider({ id: provider.id, cascade: false, now: AT })).toBe('deleted')
    expect(await restoreResource(broker)).toBe('no_provider')
  })

  test('after 7 days a deleted record is not found, and the purge deletes it', async () => {
    const { store, close } = await bench.open()
    const [old, young] = [aClient(), aClient()]
    for (const [made, now] of [[old, AT] as const, [young, AT + 1] as const]) {
      await store.createClient(made)
      await store.deleteClient({ client_id: made.client_id, force: true, now, oldest: idFloor(0), by: 'ada' })
    }
    const names = async (after: number) => (await store.listDeleted({ after, limit: 9 })).map(({ name }) => name)
    expect(await names(AT)).toEqual([young.client_id])
    expect(await store.findDeletedClient({ name: old.client_id, after: AT })).toBeUndefined()
    expect(await names(0)).toEqual([young.client_id, old.client_id])
    expect(await store.listDeleted({ after: 0, limit: 9, q: old.client_id.toUpperCase() })).toHaveLength(1)
    expect(await store.listDeleted({ after: 0, limit: 1, offset: 1, q: old.client_name })).toHaveLength(1)
    const window = { target: 'deleted-records', table: 0, after: '', rows: 10, now: AT + RESTORABLE }
    expect((await store.purgeWindow(window)).deleted).toBe(1)
    expect(await names(0)).toEqual([young.client_id])
    await close()
  })
}
