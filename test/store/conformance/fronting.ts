// Rules of fronting links.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { Resource } from '../../../src/records/resource.ts'
import { aLink, anIssuance, aResource, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function frontingRules(bench: Bench): void {
  const resource = async () => {
    const made = aResource()
    await bench.store.createResource(made)
    return made
  }
  const again = async ({ slug }: Resource) => (await bench.store.findResourceByName({ name: slug })) as Resource
  /** Links two resources as they are now. */
  const create = async (source: Resource, target: Resource, dry_run = false, created_at = NOW) =>
    bench.store.createFrontingLink({
      link: aLink(source, target, { created_at }),
      ends: [await again(source), await again(target)],
      dry_run,
    })
  const find = (source: Resource, target: Resource) => bench.store.findFrontingLink(aLink(source, target))
  const slugsOf = async (filter: object) =>
    (await bench.store.listFrontingLinks(filter)).map((each) => [each.source_slug, each.target_slug])

  test('a link is read back, only in its own direction, also if it was looked up before it existed', async () => {
    const [a, b] = [await resource(), await resource()]
    expect(await find(a, b)).toBeUndefined()
    expect(await create(a, b)).toBe('created')
    expect(await find(a, b)).toEqual(aLink(a, b))
    expect(await find(b, a)).toBeUndefined()
  })

  test('a dry run writes nothing, and returns what would prevent the link', async () => {
    const [a, b] = [await resource(), await resource()]
    expect(await create(a, b, true)).toBeUndefined()
    expect(await find(a, b)).toBeUndefined()
    await create(a, b)
    expect(await create(a, b, true)).toBe('exists')
    expect(await create(b, a, true)).toBe('cycle')
  })

  test('a second link between two resources is refused, and so is a link that closes a cycle of any length', async () => {
    const [a, b, c] = [await resource(), await resource(), await resource()]
    await create(a, b)
    await create(b, c)
    expect(await create(a, b)).toBe('exists')
    expect(await create(c, a)).toBe('cycle')
    expect(await create(a, c)).toBe('created')
  })

  test('a link between resources that changed meanwhile is stale, and so is an update of those resources after the link', async () => {
    const [a, b] = [await resource(), await resource()]
    await bench.store.updateResource({ ...b, display_name: 'Other' })
    const link = aLink(a, b)
    expect(await bench.store.createFrontingLink({ link, ends: [a, b], dry_run: false })).toBe('stale')
    expect(await find(a, b)).toBeUndefined()
    const before = await again(a)
    await create(a, b)
    expect(await bench.store.updateResource(before)).toBe('stale')
  })

  test('a replaced scope map is visible at once', async () => {
    const [a, b] = [await resource(), await resource()]
    const link = { ...aLink(a, b), scope_map: { 'files:read': ['other'] }, updated_at: NOW + 1 }
    const ends = async () => [await again(a), await again(b)]
    expect(await bench.store.updateFrontingLink({ link, ends: await ends() })).toBeUndefined()
    await create(a, b)
    await find(a, b)
    expect(await bench.store.updateFrontingLink({ link, ends: await ends() })).toBe('updated')
    expect(await find(a, b)).toEqual(link)
    expect(await bench.store.updateFrontingLink({ link, ends: [a, b] })).toBe('stale')
  })

  test('links are listed in order of creation, filtered by either resource, page by page', async () => {
    const [a, b, c] = [await resource(), await resource(), await resource()]
    await create(b, c, false, NOW + 2)
    await create(a, c, false, NOW + 1)
    await create(a, b, false, NOW)
    const ends = (from: Resource, to: Resource) => [from.slug, to.slug]
    expect(await slugsOf({ source_slug: a.slug })).toEqual([ends(a, b), ends(a, c)])
    expect(await slugsOf({ target_slug: c.slug })).toEqual([ends(a, c), ends(b, c)])
    expect(await slugsOf({ slug: b.slug })).toEqual([ends(a, b), ends(b, c)])
    expect(await slugsOf({ source_slug: a.slug, limit: 1 })).toEqual([ends(a, b)])
    expect(await slugsOf({ source_slug: a.slug, limit: 1, offset: 1 })).toEqual([ends(a, c)])
  })

  test('a link is deleted once, and the deletion is visible at once', async () => {
    const [a, b] = [await resource(), await resource()]
    await create(a, b)
    await find(a, b)
    expect(await bench.store.deleteFrontingLink(aLink(a, b))).toEqual(aLink(a, b))
    expect(await find(a, b)).toBeUndefined()
    expect(await bench.store.deleteFrontingLink(aLink(a, b))).toBeUndefined()
  })

  test('a resource with links at either end is deleted only together with them', async () => {
    const [a, b, c] = [await resource(), await resource(), await resource()]
    await create(a, b)
    await create(b, c)
    await find(a, b)
    const remove = (cascade: boolean) => bench.store.deleteResource({ by: 'ada', id: b.id, now: NOW, cascade })
    const links = expect.arrayContaining([aLink(a, b), aLink(b, c)])
    expect(await remove(false)).toEqual({ outcome: 'has_links', links })
    expect(await find(a, b)).toEqual(aLink(a, b))
    expect(await remove(true)).toEqual({ outcome: 'deleted', links })
    expect(await find(a, b)).toBeUndefined()
    expect(await slugsOf({ slug: b.slug })).toEqual([])
  })

  test('a token of a fronted exchange is recorded only while the link exists', async () => {
    const [a, b] = [await resource(), await resource()]
    const subject = anIssuance()
    await bench.store.recordIssuance(subject)
    await create(a, b)
    const exchanged = (id: string) => ({ ...anIssuance({ id, parent_id: subject.id }), link: aLink(a, b) })
    const [before, after] = [newId(), newId()]
    expect(await bench.store.recordExchange(exchanged(before))).toBe('recorded')
    await bench.store.deleteFrontingLink(aLink(a, b))
    expect(await bench.store.recordExchange(exchanged(after))).toBe('link_deleted')
    expect(await bench.store.findIssuance({ id: after })).toBeUndefined()
  })
}
