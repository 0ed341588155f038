// Records of resources.
import { describe, expect, test } from 'vitest'
import { resourceRecord } from '../../src/config/records.ts'
import { issuesOf } from '../../src/lib/field.ts'

const mint = { slug: 'files', uri: 'https://files.example.com', backend_kind: 'mint' }
const broker = { slug: 'mail', backend_kind: 'broker', broker_provider_slug: 'acme' }
const paths = (input: unknown) => {
  const result = resourceRecord.safeParse(input)
  return result.success ? [] : issuesOf(result.error).map(({ path }) => path)
}

describe('resources', () => {
  test('a mint resource requires a uri, a broker resource a provider', () => {
    expect(paths(mint)).toEqual([])
    expect(paths(broker)).toEqual([])
    expect(paths({ ...mint, uri: undefined })).toEqual(['uri'])
    expect(paths({ ...broker, broker_provider_slug: undefined })).toEqual(['broker_provider_slug'])
  })

  test('a mint resource must not have a provider, and a broker resource may have a uri', () => {
    expect(paths({ ...mint, broker_provider_slug: 'acme' })).toEqual(['broker_provider_slug'])
    expect(paths({ ...broker, uri: 'https://mail.example.com' })).toEqual([])
  })

  test('a uri is kept byte for byte', () => {
    const uri = 'https://Files.Example.com:443/a/../b/'
    expect(resourceRecord.parse({ ...mint, uri }).uri).toBe(uri)
  })

  test.each([
    ['a slug with a space', { ...mint, slug: 'a b' }, 'slug'],
    ['no slug', { ...mint, slug: undefined }, 'slug'],
    ['a uri that is none', { ...mint, uri: 'files' }, 'uri'],
    ['another kind', { ...mint, backend_kind: 'proxy' }, 'backend_kind'],
    ['a blank name', { ...mint, display_name: ' ' }, 'display_name'],
    ['a scope with a space', { ...mint, scopes: [{ name: 'a b' }] }, 'scopes[0].name'],
    ['a scope twice', { ...mint, scopes: [{ name: 'a' }, { name: 'a' }] }, 'scopes'],
    ['scopes as text', { ...mint, scopes: 'a b' }, 'scopes'],
    ['an unknown policy', { ...mint, policy: { exchnge: {} } }, 'policy'],
    ['an unknown member', { ...mint, colour: 'red' }, ''],
  ])('refuses %s', (_what, input, path) => {
    expect(paths(input)).toEqual([path])
  })

  test('a policy stores each client once', () => {
    const policy = { runtime: { client_ids: ['a', 'b', 'a'] } }
    expect(resourceRecord.parse({ ...mint, policy }).policy?.runtime?.client_ids).toEqual(['a', 'b'])
  })
})
