// Rules of what a deletion changes in the records that name the deleted one.
import { expect, test } from 'vitest'
import { idFloor } from '../../../src/lib/id.ts'
import type { Client } from '../../../src/records/client.ts'
import type { Resource } from '../../../src/records/resource.ts'
import { aClient, aLink, aProvider, aResource, aUser, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function referenceRules(bench: Bench): void {
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
  const naming = (exchange: string[], runtime: string[]): Partial<Resource> => ({
    policy: {
      exchange: { allowed_client_ids: exchange },
      runtime: { client_ids: runtime },
      connect: { allowed_return_urls: ['https://app.example.com'] },
    },
  })
  const remove = ({ client_id }: Client) =>
    bench.store.deleteClient({ by: 'ada', client_id, force: true, now: NOW + 1, oldest: idFloor(0) })
  const find = ({ uri = '' }: Resource) => bench.store.findResource({ uri })
  const findClient = ({ client_id }: Client) => bench.store.findClient({ client_id })

  test('a deleted client is removed from every policy, and other clients stay', async () => {
    const [gone, kept] = [await client(), await client()]
    const ids = [gone.client_id, kept.client_id]
    const first = await resource(naming(ids, [gone.client_id]))
    const second = await resource(naming([kept.client_id], ids))
    const other = await resource(naming([kept.client_id], []))
    await Promise.all([first, second, other].map(find))
    expect(await remove(gone)).toBe('deleted')
    const changed = { version: 2, updated_at: NOW + 1 }
    expect(await find(first)).toEqual({ ...first, ...naming([kept.client_id], []), ...changed })
    expect(await find(second)).toEqual({ ...second, ...naming([kept.client_id], [kept.client_id]), ...changed })
    expect(await find(other)).toEqual(other)
  })

  test('the ids of clients are compared exactly, whatever characters they have', async () => {
    const ids = ['a_b', 'aXb', 'a%b', 'A_B', 'a"b', 'a\\b', 'a_', 'a_b_c'].map((id) => `${id}-${NOW}`)
    for (const client_id of ids) await client({ client_id })
    const named = await resource(naming([], ids))
    for (const [i, client_id] of ids.entries()) {
      await bench.store.deleteClient({ by: 'ada', client_id, force: true, now: NOW + 1, oldest: idFloor(0) })
      expect((await find(named))?.policy.runtime.client_ids).toEqual(ids.slice(i + 1))
    }
  })

  test('a client is not deleted while an exchange list contains only it, and other clients could exchange with an empty list', async () => {
    const only = await client()
    const list = naming([only.client_id], [])
    const [gateway, target] = [await resource(), await resource(list)]
    await bench.store.createFrontingLink({ link: aLink(gateway, target), ends: [gateway, target], dry_run: false })
    expect(await remove(only)).toEqual({ only_at: target.slug })
    expect(await findClient(only)).toEqual(only)
    await bench.store.deleteFrontingLink({ source_slug: gateway.slug, target_slug: target.slug })
    const provider = aProvider()
    await bench.store.createProvider(provider)
    const broker = await resource({ ...list, backend_kind: 'broker', broker_provider_slug: provider.slug })
    expect(await remove(only)).toEqual({ only_at: broker.slug })
    await bench.store.deleteResource({ by: 'ada', id: broker.id, now: NOW, cascade: false })
    expect(await remove(only)).toBe('deleted')
    expect((await find(target))?.policy.exchange.allowed_client_ids).toEqual([])
  })

  test('a deleted user is removed from the access rules of resources', async () => {
    const [gone, kept] = [aUser(), aUser()]
    for (const user of [gone, kept]) await bench.store.createUser(user)
    const access = { mode: 'restricted' as const, groups: ['staff'], users: [gone.id, kept.id], email_domains: [] }
    const restricted = await resource({ access })
    await find(restricted)
    await bench.store.deleteUser({ id: gone.id, force: true, now: NOW + 1 })
    expect((await find(restricted))?.access).toEqual({ ...access, users: [kept.id] })
  })

  test('a resource that is the default of a client is deleted only with cascade, and the client keeps its name', async () => {
    const named = await resource()
    const robot = await client({ default_resource: named.uri })
    await findClient(robot)
    const deleted = (cascade: boolean) => bench.store.deleteResource({ by: 'ada', id: named.id, now: NOW + 1, cascade })
    expect((await deleted(false))?.outcome).toBe('has_clients')
    expect(await findClient(robot)).toEqual(robot)
    expect((await deleted(true))?.outcome).toBe('deleted')
    expect(await findClient(robot)).toEqual(robot)
  })

  test('the default of clients follows the URI of its resource', async () => {
    const named = await resource()
    const uri_before = named.uri ?? ''
    const robot = await client({ default_resource: uri_before })
    await findClient(robot)
    const moved = { ...named, uri: `${uri_before}/v2`, updated_at: NOW + 1 }
    expect(await bench.store.updateResource({ ...moved, version: 9, uri_before })).toBe('stale')
    expect(await findClient(robot)).toEqual(robot)
    expect(await bench.store.updateResource({ ...moved, uri_before })).toBe('updated')
    expect((await findClient(robot))?.default_resource).toBe(moved.uri)
  })

  test('an unused registration that a policy names is not deleted', async () => {
    const unused = { registration_source: 'dcr' as const, issued_at: 1, last_used_at: undefined }
    const [named, unnamed] = [await client(unused), await client(unused)]
    await resource(naming([], [named.client_id]))
    expect(await bench.store.reapClients({ before: 1, limit: 100 })).toBe(1)
    expect(await findClient(named)).toEqual(named)
    expect(await findClient(unnamed)).toBeUndefined()
  })
}
