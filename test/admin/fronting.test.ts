// Fronting links over REST and on the command line: validation, and what depends on a link.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Resource } from '../../src/records/resource.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { aProvider, aResource } from '../support/records.ts'
import { addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface LinkJson {
  source_slug: string
  target_slug: string
  scope_map: Record<string, string[]>
  created_by: string
}
interface Refusal {
  error: string
  error_description: string
  dependents?: object[]
}
const SCOPES = ['use', 'more', 'gw:use']
const two = async () =>
  [await addResource(service, { scopes: SCOPES }), await addResource(service, { scopes: ['run', 'stop'] })] as const
const post = (body: object, query = '') =>
  callAdmin<LinkJson & Refusal>(service, 'POST', `/admin/fronting${query}`, body)
const pathOf = (source: { slug: string }, target: { slug: string }) => `/admin/fronting/${source.slug}/${target.slug}`
const link = (source: { slug: string }, target: { slug: string }, scope_map: object = { use: ['run'] }) =>
  post({ source: source.slug, target: target.slug, scope_map })
const shown = async (source: { slug: string }, target: { slug: string }) =>
  (await callAdmin<LinkJson>(service, 'GET', pathOf(source, target))).body

test('creating a link shows it in the list of either resource and at both resources, and records it', async () => {
  const [source, target] = await two()
  const made = await link(source, target)
  const expected = {
    source_slug: source.slug,
    target_slug: target.slug,
    scope_map: { use: ['run'] },
    created_by: 'admin',
    created_at: expect.stringMatching(/Z$/),
    updated_at: expect.stringMatching(/Z$/),
  }
  expect([made.status, made.body]).toEqual([201, expected])
  expect(await shown(source, target)).toEqual(expected)
  for (const query of [`source=${source.slug}`, `target=${target.slug}`])
    expect(await okAdmin(service, 'GET', `/admin/fronting?${query}`)).toEqual([expected])
  expect(await okAdmin(service, 'GET', `/admin/resources/${source.slug}/fronting`)).toEqual({
    slug: source.slug,
    fronts: [expected],
    fronted_by: [],
  })
  expect(await okAdmin(service, 'GET', `/admin/resources/${target.slug}/fronting`)).toEqual({
    slug: target.slug,
    fronts: [],
    fronted_by: [expected],
  })
  expect((await eventsOf(service, 'fronting_link_created'))[0]?.detail).toEqual({
    source: source.slug,
    target: target.slug,
    scope_map: { use: ['run'] },
  })
})

test('a dry run answers 200 with the link, creates nothing and records no event', async () => {
  const [source, target] = await two()
  const before = (await eventsOf(service, 'fronting_link_created')).length
  const body = { source: source.slug, target: target.slug, scope_map: { use: ['run'] } }
  const tried = await post(body, '?dry_run=true')
  expect([tried.status, tried.body.scope_map]).toEqual([200, { use: ['run'] }])
  expect((await callAdmin(service, 'GET', pathOf(source, target))).status).toBe(404)
  expect((await eventsOf(service, 'fronting_link_created')).length).toBe(before)
  await link(source, target)
  expect((await post(body, '?dry_run=true')).status).toBe(409)
})

describe('a link is refused', () => {
  test.each<[string, number, string, (ends: readonly Resource[]) => object]>([
    ['without a map', 400, 'scope_map is required', () => ({ scope_map: undefined })],
    ['with an empty map', 400, 'scope_map must map a scope', () => ({ scope_map: {} })],
    ['with an empty entry', 400, 'scope_map.use must not be empty', () => ({ scope_map: { use: [] } })],
    ['with a map of something else', 400, 'scope_map.use', () => ({ scope_map: { use: 7 } })],
    ['with an unknown member', 400, 'unknown members: extra', () => ({ extra: 1 })],
    ['to itself', 400, 'cannot front itself', ([source]) => ({ target: source?.slug })],
    ['from nowhere', 404, 'no such resource', () => ({ source: 'nothing-here' })],
    ['to nowhere', 404, 'no such resource', () => ({ target: 'nothing-here' })],
    [
      'with a scope that the source lacks',
      400,
      'the source does not declare: none',
      () => ({ scope_map: { none: ['run'] } }),
    ],
    [
      'with a scope that the target lacks',
      400,
      'the target does not declare: none',
      () => ({ scope_map: { use: ['none'] } }),
    ],
    [
      'with a name that every object has',
      400,
      'does not declare: constructor',
      () => ({ scope_map: { constructor: ['run'] } }),
    ],
  ])('%s', async (_what, status, description, change) => {
    const ends = await two()
    const [source, target] = ends
    const answer = await post({
      source: source.slug,
      target: target.slug,
      scope_map: { use: ['run'] },
      ...change(ends),
    })
    expect([answer.status, answer.body.error_description]).toEqual([status, expect.stringContaining(description)])
    expect((await callAdmin(service, 'GET', pathOf(source, target))).status).toBe(404)
  })

  test('a duplicate link, a cycle, or a source that is no mint resource is a conflict', async () => {
    const [source, target] = await two()
    await link(source, target)
    expect((await link(source, target)).status).toBe(409)
    const back = await link(target, source, { run: ['use'] })
    expect([back.status, back.body.error, back.body.error_description]).toEqual([
      400,
      'invalid_request',
      'the target leads back to the source',
    ])
    await service.app.store.createProvider(aProvider({ slug: 'files' }))
    const broker = aResource({ backend_kind: 'broker', broker_provider_slug: 'files', uri: undefined })
    await service.app.store.createResource(broker)
    const from = await link(broker, target, { 'files:read': ['run'] })
    expect([from.status, from.body.error_description]).toEqual([400, 'source must be a mint resource'])
  })
})

test('PATCH validates and replaces the scope map; without a map, or with the same map, nothing changes', async () => {
  const [source, target] = await two()
  await link(source, target)
  const patch = (body: object) => callAdmin<LinkJson & Refusal>(service, 'PATCH', pathOf(source, target), body)
  expect((await patch({ scope_map: { more: ['run', 'stop', 'run'] } })).body.scope_map).toEqual({
    more: ['run', 'stop'],
  })
  const before = await eventsOf(service, 'fronting_link_updated')
  expect((await patch({})).body.scope_map).toEqual({ more: ['run', 'stop'] })
  expect((await patch({ scope_map: { more: ['run', 'stop'] } })).status).toBe(200)
  expect(await eventsOf(service, 'fronting_link_updated')).toEqual(before)
  expect((await patch({ scope_map: { none: ['run'] } })).status).toBe(400)
  expect((await patch({ source: 'other' })).status).toBe(400)
  expect((await shown(source, target)).scope_map).toEqual({ more: ['run', 'stop'] })
  expect((await callAdmin(service, 'PATCH', '/admin/fronting/a/b', {})).status).toBe(404)
})

test('DELETE removes a link; a second DELETE is 404', async () => {
  const [source, target] = await two()
  await link(source, target)
  expect((await callAdmin(service, 'DELETE', pathOf(source, target))).status).toBe(204)
  expect((await callAdmin(service, 'DELETE', pathOf(source, target))).status).toBe(404)
})

describe('a resource with links', () => {
  test.each<[string, object]>([
    ['keeps its slug', { slug: 'renamed' }],
    ['keeps the scopes that a map uses', { scopes: [{ name: 'more' }] }],
  ])('%s', async (_what, body) => {
    const [source, target] = await two()
    await link(source, target)
    const refused = await callAdmin<Refusal>(service, 'PATCH', `/admin/resources/${source.id}`, body)
    expect([refused.status, refused.body.error_description]).toEqual([
      400,
      expect.stringContaining('fronting links refer to'),
    ])
    const other = { scopes: [{ name: 'use' }] }
    expect((await callAdmin(service, 'PATCH', `/admin/resources/${source.id}`, other)).status).toBe(200)
    await callAdmin(service, 'DELETE', pathOf(source, target))
    expect((await callAdmin(service, 'PATCH', `/admin/resources/${source.id}`, body)).status).toBe(200)
  })

  test('a resource that is the target of a link keeps the scopes that the map refers to', async () => {
    const [source, target] = await two()
    await link(source, target)
    const body = { scopes: [{ name: 'stop' }] }
    expect((await callAdmin(service, 'PATCH', `/admin/resources/${target.id}`, body)).status).toBe(400)
  })

  test('a resource with links is deleted only with cascade, and the audit event names each deleted link', async () => {
    const [source, target] = await two()
    await link(source, target)
    const path = `/admin/resources/${target.id}`
    const refused = await callAdmin<Refusal>(service, 'DELETE', path)
    expect([refused.status, refused.body.dependents]).toEqual([
      409,
      [{ source_slug: source.slug, target_slug: target.slug }],
    ])
    expect((await callAdmin(service, 'DELETE', `${path}?cascade=true`)).status).toBe(204)
    expect((await callAdmin(service, 'GET', pathOf(source, target))).status).toBe(404)
    expect((await eventsOf(service, 'fronting_link_deleted'))[0]?.detail).toEqual({
      source: source.slug,
      target: target.slug,
      reason: 'resource_cascade',
    })
  })
})

describe('on the command line a map is written', () => {
  test.each<[string, Record<string, string[]>]>([
    ['use:run,more:stop', { use: ['run'], more: ['stop'] }],
    ['use:run+stop', { use: ['run', 'stop'] }],
    ['gw:use->run', { 'gw:use': ['run'] }],
    ['{"gw:use":["run","stop"]}', { 'gw:use': ['run', 'stop'] }],
  ])('%s', async (map, expected) => {
    const [source, target] = await two()
    const ends = ['--source', source.slug, '--target', target.slug]
    const args = ['admin', 'fronting', 'create', ...ends, '--scope-map', map]
    expect((await runHere([...args, '--dry-run'], envOf(service))).code).toBe(0)
    expect((await callAdmin(service, 'GET', pathOf(source, target))).status).toBe(404)
    expect((await runHere(args, envOf(service))).code).toBe(0)
    expect((await shown(source, target)).scope_map).toEqual(expected)
    expect((await runHere(['admin', 'fronting', 'delete', ...ends], envOf(service))).code).toBe(0)
  })

  test.each([
    ['use', 'scope_map.use must not be empty'],
    ['{"use":', 'scope_map must be an object'],
    ['use:none', 'does not declare: none'],
  ])('not as %s', async (map, fault) => {
    const [source, target] = await two()
    const ends = ['--source', source.slug, '--target', target.slug]
    const { code, stderr } = await runHere(['admin', 'fronting', 'create', ...ends, '--scope-map', map], envOf(service))
    expect([code, stderr]).toEqual([2, expect.stringContaining(fault)])
  })
})
