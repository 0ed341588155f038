// Rules of resource operations.
import { describe, expect, test } from 'vitest'
import type { Resource } from '../../../src/records/resource.ts'
import { anIssuance, aProvider, aResource, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { signedIn } from './scenes.ts'

export function resourceRules(bench: Bench): void {
  const created = async (more: Partial<Resource> = {}) => {
    const resource = aResource(more)
    expect(await bench.store.createResource(resource)).toBe('created')
    return resource
  }
  const provided = async () => {
    const provider = aProvider()
    await bench.store.createProvider(provider)
    return provider
  }
  const byUri = (resource: Resource) => bench.store.findResource({ uri: resource.uri ?? '' })

  test('a resource is read back by uri, id and slug', async () => {
    const mint = await created({
      scopes: [{ name: 'write', description: '', upstream: '', groups: ['editors'] }],
      access: { mode: 'restricted', groups: ['staff'], users: ['u_1'], email_domains: ['example.com'] },
      token_claims: ['email', 'groups'],
    })
    const { slug } = await provided()
    const broker = await created({ uri: undefined, backend_kind: 'broker', broker_provider_slug: slug, scopes: [] })
    expect(await byUri(mint)).toEqual(mint)
    for (const resource of [mint, broker])
      for (const name of [resource.id, resource.slug])
        expect(await bench.store.findResourceByName({ name })).toEqual(resource)
    expect(await bench.store.findResourceByName({ name: 'nothing' })).toBeUndefined()
  })

  test('a uri is compared byte for byte', async () => {
    const resource = await created()
    for (const uri of [
      `${resource.uri}/`,
      resource.uri?.toUpperCase() ?? '',
      resource.uri?.replace('https', 'HTTPS') ?? '',
    ])
      expect(await bench.store.findResource({ uri })).toBeUndefined()
  })

  test('a second resource with the same slug or uri is refused; several resources may have no uri', async () => {
    const resource = await created()
    expect(await bench.store.createResource(aResource({ slug: resource.slug }))).toBe('exists')
    expect(await bench.store.createResource(aResource({ uri: resource.uri }))).toBe('exists')
    await created({ uri: undefined })
    await created({ uri: undefined })
  })

  test('a resource that was looked up before it existed is found afterwards', async () => {
    const resource = aResource()
    expect(await byUri(resource)).toBeUndefined()
    await bench.store.createResource(resource)
    expect(await byUri(resource)).toEqual(resource)
  })

  test('an update is visible at once, also under the earlier uri, and increments the version', async () => {
    const resource = await created()
    await byUri(resource)
    const changed = { ...resource, uri: `${resource.uri}/v2`, display_name: 'New', updated_at: NOW + 1 }
    expect(await bench.store.updateResource(changed)).toBe('updated')
    expect(await byUri(resource)).toBeUndefined()
    expect(await byUri(changed)).toEqual({ ...changed, version: 2 })
  })

  test('an update that is based on an older version is stale', async () => {
    const resource = await created()
    await bench.store.updateResource({ ...resource, display_name: 'One' })
    expect(await bench.store.updateResource({ ...resource, display_name: 'Two' })).toBe('stale')
    expect((await byUri(resource))?.display_name).toBe('One')
  })

  test('an update to the slug or uri of another resource is refused', async () => {
    const [mine, other] = [await created(), await created()]
    expect(await bench.store.updateResource({ ...mine, slug: other.slug })).toBe('exists')
    expect(await bench.store.updateResource({ ...mine, uri: other.uri })).toBe('exists')
    expect(await byUri(mine)).toEqual(mine)
  })

  test('resources are listed oldest first, page by page, filtered by kind and provider, and a new one is visible at once', async () => {
    const { store, close } = await bench.open()
    const slugs = async (filter: object = {}) =>
      (await store.listResources({ limit: 10, offset: 0, ...filter })).map(({ slug }) => slug)
    expect(await slugs()).toEqual([])
    const broker = { backend_kind: 'broker' as const, uri: undefined }
    for (const slug of ['p', 'q']) await store.createProvider(aProvider({ slug }))
    await store.createResource(aResource({ id: 'b', slug: 'b', created_at: NOW + 1 }))
    await store.createResource(
      aResource({ id: 'a', slug: 'a', created_at: NOW + 1, ...broker, broker_provider_slug: 'p' }),
    )
    await store.createResource(aResource({ id: 'c', slug: 'c', ...broker, broker_provider_slug: 'q' }))
    expect(await slugs()).toEqual(['c', 'a', 'b'])
    expect(await slugs({ limit: 1, offset: 1 })).toEqual(['a'])
    expect(await slugs({ backend_kind: 'mint' })).toEqual(['b'])
    expect(await slugs({ broker_provider_slug: 'p' })).toEqual(['a'])
    await close()
  })

  test('a broker resource needs an existing provider, at creation and update', async () => {
    const broker = { backend_kind: 'broker' as const, broker_provider_slug: 'nobody' }
    expect(await bench.store.createResource(aResource(broker))).toBe('no_provider')
    const mint = await created()
    expect(await bench.store.updateResource({ ...mint, ...broker })).toBe('no_provider')
    expect(await byUri(mint)).toEqual(mint)
  })

  describe('deleting', () => {
    const remove = (id: string, cascade = false) => bench.store.deleteResource({ by: 'ada', id, now: NOW + 1, cascade })

    test('a resource without consents is deleted once', async () => {
      const resource = await created()
      await byUri(resource)
      expect(await remove(resource.id)).toEqual({ outcome: 'deleted', links: [] })
      expect(await byUri(resource)).toBeUndefined()
      expect(await remove(resource.id)).toBeUndefined()
    })

    test('a resource with an active consent is deleted only with cascade, which revokes its tokens', async () => {
      const { consent, issuance } = await signedIn(bench.store)
      const resource = await created({ id: consent.resource_id })
      expect(await remove(resource.id)).toEqual({ outcome: 'has_consents', links: [] })
      expect(await byUri(resource)).toEqual(resource)
      expect(await remove(resource.id, true)).toEqual({ outcome: 'deleted', links: [] })
      expect(await bench.store.findConsent(consent)).toBeUndefined()
      expect((await bench.store.findTokenState({ id: issuance.id }))?.live).toBe(false)
    })

    test('a resource with issued tokens is deleted only with cascade, and the records of the tokens stay', async () => {
      const resource = await created()
      const issuance = anIssuance({ resource: resource.uri, expires_at: NOW - 1 })
      await bench.store.recordIssuance(issuance)
      expect(await remove(resource.id)).toEqual({ outcome: 'has_issuances', links: [] })
      expect(await byUri(resource)).toEqual(resource)
      expect(await remove(resource.id, true)).toEqual({ outcome: 'deleted', links: [] })
      expect(await bench.store.findIssuance(issuance)).toEqual(issuance)
    })

    test('a broker resource without a uri, whose tokens are recorded by its slug, is also deleted only with cascade', async () => {
      const { slug } = await provided()
      const broker = await created({ uri: undefined, backend_kind: 'broker', broker_provider_slug: slug, scopes: [] })
      await bench.store.recordIssuance(anIssuance({ resource: broker.slug }))
      expect(await remove(broker.id)).toEqual({ outcome: 'has_issuances', links: [] })
      expect(await remove(broker.id, true)).toEqual({ outcome: 'deleted', links: [] })
    })

    test('a revoked consent does not prevent the deletion of a resource', async () => {
      const { consent } = await signedIn(bench.store)
      const resource = await created({ id: consent.resource_id })
      await bench.store.revokeConsent({ id: consent.id, now: NOW })
      expect(await remove(resource.id)).toEqual({ outcome: 'deleted', links: [] })
    })
  })
}
