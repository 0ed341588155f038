// Regression tests of rules that a review found broken.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyfileStore } from '../../src/crypto/keyfile.ts'
import { openKeyring } from '../../src/crypto/keyring.ts'
import { storedKeys } from '../../src/crypto/stored_keys.ts'
import { systemClock } from '../../src/lib/time.ts'
import { Browser } from '../support/browser.ts'
import { authorize, authorizeUrl, redeem, refresh, signIn } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { silentLog } from '../support/log.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const setUp = async (fields: Record<string, unknown> = {}) => ({
  client: await addClient(service, fields),
  user: await addUser(service),
  resource: await addResource(service),
})

test.each(['/..//evil.example/x', '/.//evil.example', '/%2e%2e//evil.example', '/a/..//evil.example'])(
  'a login never redirects to another site: redirect=%s',
  async (redirect) => {
    const { user } = await setUp()
    const browser = new Browser()
    const page = await browser.open(`${service.issuer}/login?${new URLSearchParams({ redirect })}`)
    const { location = '' } = await signIn(service, browser, page, user.email)
    expect(new URL(location).origin).toBe(service.issuer)
  },
)

test('a forced logout ends codes that were not redeemed', async () => {
  const { client, user, resource } = await setUp()
  const authorized = await authorize(service, client, user, { resource: resource.uri })
  await service.app.store.signOutUser({ id: user.id, now: service.app.clock.now() })
  expect((await redeem(service, client, authorized)).body['error']).toBe('invalid_grant')
})

describe('a grant is limited by the present scopes', () => {
  const both = { scope: 'mcp:read mcp:write' }
  const changed = async (how: (parts: Awaited<ReturnType<typeof setUp>>) => Promise<unknown>) => {
    const parts = await setUp()
    const first = await authorize(service, parts.client, parts.user, { resource: parts.resource.uri, ...both })
    const { body } = await redeem(service, parts.client, first)
    const pending = await authorize(
      service,
      parts.client,
      parts.user,
      { resource: parts.resource.uri, ...both },
      first.browser,
    )
    await how(parts)
    return [
      (await redeem(service, parts.client, pending)).body,
      (await refresh(service, parts.client, body['refresh_token'])).body,
    ]
  }

  test('a scope that the resource no longer declares is omitted', async () => {
    const answers = await changed(({ resource }) =>
      service.app.store.updateResource({ ...resource, scopes: resource.scopes.slice(0, 1) }),
    )
    expect(answers.map(({ scope }) => scope)).toEqual(['mcp:read', 'mcp:read'])
  })

  test('a scope that the client no longer has is omitted', async () => {
    const answers = await changed(({ client: { client_secret: _, ...client } }) =>
      service.app.store.updateClient({ ...client, scope: 'mcp:write' }),
    )
    expect(answers.map(({ scope }) => scope)).toEqual(['mcp:write', 'mcp:write'])
  })

  test('without a remaining scope, or with a deleted resource, no token is issued', async () => {
    const empty = await changed(({ resource }) => service.app.store.updateResource({ ...resource, scopes: [] }))
    expect(empty.map(({ error }) => error)).toEqual(['invalid_scope', 'invalid_scope'])
    const moved = await changed(({ resource }) =>
      service.app.store.updateResource({ ...resource, uri: `${resource.uri}/v2` }),
    )
    expect(moved.map(({ error }) => error)).toEqual(['invalid_target', 'invalid_target'])
  })
})

test('without a resource a scope must be declared by a resource', async () => {
  const client = await addClient(service, { scope: '' })
  await addResource(service)
  const page = await new Browser().open(
    authorizeUrl(service, { client_id: client.client_id, scope: 'mcp:read made:up' }),
  )
  expect(new URL(page.location ?? '').searchParams.get('error')).toBe('invalid_scope')
})

test('several resources are refused with an error redirect to the client', async () => {
  const { client, resource } = await setUp()
  const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
  const page = await new Browser().open(`${url}&resource=${encodeURIComponent('https://other.example/mcp')}`)
  const back = new URL(page.location ?? '')
  expect([back.origin + back.pathname, back.searchParams.get('error')]).toEqual([REDIRECT_URI, 'invalid_target'])
})

test('a client_secret in a URL is refused', async () => {
  const { client } = await setUp()
  const url = authorizeUrl(service, { client_id: client.client_id, client_secret: 'cs_x' })
  const { location = '' } = await new Browser().open(url)
  expect(new URL(location).searchParams.get('error')).toBe('invalid_request')
  expect(location).not.toContain('cs_x')
})

test('the database file is accessible to its owner only', () => {
  const { path: file } = service.app.config.storage.sqlite
  for (const each of [file, `${file}-wal`]) expect(statSync(each).mode & 0o077).toBe(0)
})

describe('the key folder', () => {
  const open = (folder: string) =>
    openKeyring({
      source: storedKeys({
        store: keyfileStore(folder),
        alg: 'ES256',
        longestLife: 3600,
        clock: systemClock,
        log: silentLog,
      }),
      clock: systemClock,
    })

  test('a key folder without its index is refused, because new keys would invalidate every token', async () => {
    const folder = path.join(tempFolder(), 'keys')
    await open(folder)
    rmSync(path.join(folder, 'keys.json'))
    await expect(open(folder)).rejects.toThrow('keys.json is missing')
  })

  test('an index that is not JSON, or a key file that is not a key, is refused with its name', async () => {
    const folder = path.join(tempFolder(), 'keys')
    const { kid } = (await open(folder)).current()
    const index = readFileSync(path.join(folder, 'keys.json'), 'utf8')
    writeFileSync(path.join(folder, 'keys.json'), '{')
    await expect(open(folder)).rejects.toThrow('keys.json cannot be read')
    writeFileSync(path.join(folder, 'keys.json'), index)
    writeFileSync(path.join(folder, `${kid}.pem`), 'broken')
    await expect(open(folder)).rejects.toThrow(kid)
  })
})
