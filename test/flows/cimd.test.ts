// Clients from metadata documents: real documents, caching, and stored clients.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { DOCUMENTS } from '../interop/published.ts'
import { okAdmin } from '../support/admin.ts'
import type { Browser } from '../support/browser.ts'
import { ask, DocumentServer, forgetDocuments, LOCAL_DOCUMENTS, refusalIn, signedIn } from '../support/documents.ts'
import { authorize, redeem, refresh } from '../support/flow.ts'
import { addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

let service: TestService
let documents: DocumentServer
let user: Awaited<ReturnType<typeof addUser>>
let resource: string
let browser: Browser
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService(LOCAL_DOCUMENTS)
  user = await addUser(service)
  resource = (await addResource(service)).uri
  browser = await signedIn(service, user)
})
afterAll(async () => {
  documents.close()
  await service.close()
})
beforeEach(() => forgetDocuments(service))
afterEach(() => {
  vi.restoreAllMocks()
})

/** Whether the consent page is shown, or the refusal. */
const outcome = async (client_id: string, fields: Record<string, string> = {}) => {
  const page = await ask(service, browser, { client_id, resource, ...fields })
  return page.location?.includes('/consent?') ? 'consent' : refusalIn(page)
}
/** Consents to a client, which stores it. */
const consent = (client_id: string) => authorize(service, { client_id }, user, { resource }, browser)
const setMode = (mode: string, where = service) => okAdmin(where, 'PATCH', '/admin/settings/dcr', { mode })

describe('documents of real clients', () => {
  const { claudeCode, vsCode, claudeAi } = DOCUMENTS
  const publish = (document: { client_id: string }) => {
    const { origin, pathname } = new URL(document.client_id)
    documents.serveAs(service, origin)
    return documents.publish(pathname, document, { type: 'application/json; charset=utf-8' }, origin)
  }

  const ways: [string, { client_id: string; client_name: string }, string][] = [
    ['Claude Code at any port', claudeCode, 'http://localhost:51004/callback'],
    ['Claude Code at any port of 127.0.0.1', claudeCode, 'http://127.0.0.1:63999/callback'],
    ['Claude Code without a port', claudeCode, 'http://localhost/callback'],
    ['VS Code at its own port', vsCode, 'http://127.0.0.1:33418/'],
    ['VS Code at any port', vsCode, 'http://127.0.0.1:40123/'],
    ['VS Code on the web', vsCode, 'https://vscode.dev/redirect'],
    ['claude.ai', claudeAi, 'https://claude.ai/api/mcp/auth_callback'],
  ]
  test.each(ways)('%s signs its user in, and refreshes', async (_name, document, redirect_uri) => {
    const client_id = publish(document)
    const authorized = await authorize(service, { client_id }, user, { redirect_uri, resource }, browser)
    expect(authorized.callback.href.startsWith(`${redirect_uri}?code=`)).toBe(true)
    const { status, body } = await redeem(service, { client_id }, authorized, { redirect_uri, resource })
    expect([status, body['scope']]).toEqual([200, 'mcp:read'])
    expect((await refresh(service, { client_id }, body['refresh_token'])).status).toBe(200)
    const stored = await service.app.store.findClient({ client_id })
    expect(stored).toMatchObject({
      client_name: document.client_name,
      grant_types: expect.arrayContaining(['authorization_code', 'refresh_token']),
      token_endpoint_auth_method: 'none',
      registration_source: 'cimd',
      is_agent: false,
    })
  })

  test.each([
    ['Claude Code', claudeCode, 'http://localhost:51004/other'],
    ['Claude Code', claudeCode, 'http://localhost:51004/callback?a=b'],
    ['Claude Code', claudeCode, 'http://localhost:51004/callback/'],
    ['Claude Code', claudeCode, 'https://localhost:51004/callback'],
    ['Claude Code', claudeCode, 'http://[::1]:51004/callback'],
    ['Claude Code', claudeCode, 'http://localhost.evil.example:51004/callback'],
    ['Claude Code', claudeCode, 'http://localhost:51004@evil.example/callback'],
    ['Claude Code', claudeCode, 'http://127.0.0.1:051004/callback'],
    ['VS Code', vsCode, 'http://127.0.0.1:33418/callback'],
    ['VS Code', vsCode, 'http://localhost:33418/'],
    ['VS Code', vsCode, 'https://vscode.dev:8443/redirect'],
    ['claude.ai', claudeAi, 'https://claude.ai:8443/api/mcp/auth_callback'],
    ['claude.ai', claudeAi, 'http://localhost:51004/callback'],
  ])(
    '%s is not redirected to a redirect URI that its document does not contain',
    async (_name, document, redirect_uri) => {
      const client_id = publish(document)
      expect(await outcome(client_id, { redirect_uri })).toBe(
        '400 invalid_request: the redirect_uri is not registered for this client',
      )
    },
  )
})

describe('caching of documents', () => {
  /** The number of requests at these seconds, counted from the first, that fetch the document. */
  const fetchesAt = async (seconds: number[], headers: Record<string, string>) => {
    const path = `/cached-${Math.random()}`
    const client_id = documents.publish(path, {}, { headers })
    let now = 0
    const counts: number[] = []
    for (const at of seconds) {
      service.advance(at - now)
      now = at
      expect(await outcome(client_id)).toBe('consent')
      counts.push(documents.count(path))
    }
    return counts
  }
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString()

  test.each<[string, Record<string, string>, number[], number[]]>([
    ['without headers for cimd.cache_ttl', {}, [0, 3500, 3601], [1, 1, 2]],
    ['for its max-age', { 'cache-control': 'public, max-age=600' }, [0, 590, 601], [1, 1, 2]],
    ['less the age that it came with', { 'cache-control': 'max-age=600', age: '300' }, [0, 290, 301], [1, 1, 2]],
    ['a minute at least', { 'cache-control': 'max-age=1' }, [0, 55, 61], [1, 1, 2]],
    ['cimd.cache_ttl at most', { 'cache-control': 'max-age=1000000000' }, [0, 3590, 3601], [1, 1, 2]],
    [
      'no longer for stale-while-revalidate',
      { 'cache-control': 'max-age=600, stale-while-revalidate=9999' },
      [0, 590, 601],
      [1, 1, 2],
    ],
    ['no longer for stale-if-error', { 'cache-control': 'max-age=600, stale-if-error=9999' }, [0, 590, 601], [1, 1, 2]],
    ['not at all with no-store', { 'cache-control': 'no-store' }, [0, 0], [1, 2]],
    ['not at all with no-store beside max-age', { 'cache-control': 'max-age=600, No-Store' }, [0, 0], [1, 2]],
    ['not at all with no-cache', { 'cache-control': 'no-cache, max-age=600' }, [0, 0], [1, 2]],
    ['not at all with max-age=0', { 'cache-control': 'max-age=0' }, [0, 0], [1, 2]],
    ['not at all with a max-age that is garbage', { 'cache-control': 'max-age=soon' }, [0, 0], [1, 2]],
    ['until it expires', { expires: inSeconds(600) }, [0, 500, 620], [1, 1, 2]],
    ['not at all when it has expired', { expires: inSeconds(-600) }, [0, 0], [1, 2]],
    ['not at all when Expires is garbage', { expires: '0' }, [0, 0], [1, 2]],
    [
      'for its max-age whatever Expires says',
      { 'cache-control': 'max-age=600', expires: '0' },
      [0, 590, 601],
      [1, 1, 2],
    ],
  ])('%s', async (_rule, headers, seconds, fetched) => {
    expect(await fetchesAt(seconds, headers)).toEqual(fetched)
  })

  test('a cimd.cache_ttl below a minute takes precedence over the minimum', async () => {
    const other = await startService({ ...LOCAL_DOCUMENTS, SERVICE_CIMD_CACHE_TTL: '5s' })
    try {
      const client_id = documents.publish('/short', {}, { headers: { 'cache-control': 'max-age=600' } })
      const before = documents.count('/short')
      const at = async (seconds: number) => {
        other.advance(seconds)
        await ask(other, browser, { client_id })
        return documents.count('/short') - before
      }
      expect([await at(0), await at(3), await at(3)]).toEqual([1, 1, 2])
    } finally {
      await other.close()
    }
  })

  test('a document with changed redirect_uris is used after the cached copy has expired, not before', async () => {
    const second = 'https://client.example.com/second'
    const client_id = documents.publish('/moved')
    await consent(client_id)
    documents.publish('/moved', { redirect_uris: [second], client_name: 'Desk 2' })
    expect(await outcome(client_id, { redirect_uri: second })).toMatch('not registered')
    service.advance(3601)
    expect(await outcome(client_id, { redirect_uri: second, prompt: 'consent' })).toBe('consent')
    expect(await outcome(client_id)).toMatch('the redirect_uri is not registered')
    const stored = await service.app.store.findClient({ client_id })
    expect(stored).toMatchObject({ client_name: 'Desk 2', redirect_uris: [second], version: 2 })
  })

  test('an expired copy is not used again when the document no longer exists', async () => {
    const client_id = documents.publish('/gone')
    expect(await outcome(client_id)).toBe('consent')
    documents.publish('/gone', {}, { status: 404 })
    expect(await outcome(client_id)).toBe('consent')
    service.advance(3601)
    expect(await outcome(client_id)).toBe('400 invalid_client: the client document answers with status 404')
  })
})

describe('unavailable documents', () => {
  test('an unavailable document is not fetched again for 30 seconds, and refused with the same message', async () => {
    const client_id = documents.publish('/down', {}, { status: 500 })
    const first = await outcome(client_id)
    expect(first).toBe('400 invalid_client: the client document answers with status 500')
    documents.publish('/down')
    service.advance(28)
    expect(await outcome(client_id)).toBe(first)
    expect(documents.count('/down')).toBe(1)
    service.advance(4)
    expect(await outcome(client_id)).toBe('consent')
    expect(documents.count('/down')).toBe(2)
  })

  test('concurrent requests for one URL fetch it once, and all of them get the result', async () => {
    const client_id = documents.publish(
      '/once',
      {},
      {
        answer: (_, response) =>
          setTimeout(() => {
            const document = { client_id, client_name: 'Desk', redirect_uris: [REDIRECT_URI] }
            response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
          }, 200),
      },
    )
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcome(client_id)))
    expect(new Set(outcomes)).toEqual(new Set(['consent']))
    expect(documents.count('/once')).toBe(1)
    const broken = documents.publish('/once-broken', {}, { answer: (request) => request.socket.destroy() })
    const refusals = await Promise.all(Array.from({ length: 20 }, () => outcome(broken)))
    expect(new Set(refusals)).toEqual(new Set(['400 invalid_client: the client document cannot be fetched']))
    expect(documents.count('/once-broken')).toBe(1)
  })

  test('the refusal describes the error in the document', async () => {
    const wrong: [string, Record<string, unknown>, string][] = [
      ['no-name', { client_name: undefined }, 'the client document is not valid: client_name is required'],
      ['no-uris', { redirect_uris: [] }, 'the client document is not valid: redirect_uris must be a list'],
      ['other', { client_id: 'https://other.example/x' }, 'the client document has another client_id'],
      ['machine', { grant_types: ['client_credentials'] }, 'the client document does not ask for authorization_code'],
    ]
    for (const [path, changes, description] of wrong)
      expect(await outcome(documents.publish(`/wrong-${path}`, changes))).toBe(`400 invalid_client: ${description}`)
  })
})

describe('operators and document clients', () => {
  test('a suspended document client stays suspended, and its document is not fetched', async () => {
    const client_id = documents.publish('/suspended', {}, { headers: { 'cache-control': 'no-store' } })
    await consent(client_id)
    await okAdmin(service, 'PATCH', `/admin/clients/${encodeURIComponent(client_id)}/suspend`)
    const count = documents.count('/suspended')
    for (const seconds of [0, 4000]) {
      service.advance(seconds)
      expect(await outcome(client_id)).toBe('400 invalid_client: the client is suspended')
    }
    expect(documents.count('/suspended')).toBe(count)
    await okAdmin(service, 'PATCH', `/admin/clients/${encodeURIComponent(client_id)}/reactivate`)
    expect(await outcome(client_id, { prompt: 'consent' })).toBe('consent')
  })

  test('a registration mode that is set at run time applies at once: admin_only refuses new document clients, not stored ones', async () => {
    const known = documents.publish('/known', {}, { headers: { 'cache-control': 'no-store' } })
    const stranger = documents.publish('/stranger')
    const seen = documents.publish('/seen')
    await consent(known)
    const waiting = (await ask(service, browser, { client_id: seen, resource })).location ?? ''
    await setMode('admin_only')
    try {
      const refused = '400 invalid_client: clients must be registered by an administrator'
      expect(await outcome(stranger)).toBe(refused)
      expect(documents.count('/stranger')).toBe(0)
      // The document of this client is cached, but no user has consented to it.
      expect(await outcome(seen)).toBe(refused)
      expect((await browser.open(waiting)).text).toMatch('registered by an administrator')
      expect(await outcome(known, { prompt: 'consent' })).toBe('consent')
    } finally {
      await setMode('open')
    }
    expect(await outcome(stranger)).toBe('consent')
  })

  test('in mode approved_redirects every redirect URI of a document must be approved', async () => {
    const other = await startService({
      ...LOCAL_DOCUMENTS,
      SERVICE_DCR_MODE: 'approved_redirects',
      SERVICE_DCR_APPROVED_REDIRECTS: 'https://*.good.example/cb',
    })
    try {
      const at = (redirect_uris: string[], path: string) => {
        const client_id = documents.publish(path, { redirect_uris })
        return ask(other, browser, { client_id, redirect_uri: redirect_uris[0] })
      }
      const refused = await at(['https://a.good.example/cb', 'https://evil.example/cb'], '/approved-half')
      expect(refusalIn(refused)).toBe('400 invalid_client: a redirect_uri of the client document is not approved')
      expect((await at(['https://a.good.example/cb'], '/approved')).location).toContain('/login?')
      // A refusal by the mode is not remembered when the mode changes.
      await setMode('open', other)
      const client_id = `${documents.origin}/approved-half`
      const page = await ask(other, browser, { client_id, redirect_uri: 'https://a.good.example/cb' })
      expect(page.location).toContain('/login?')
    } finally {
      await other.close()
    }
  })
})

describe('a document that an operator fetches', () => {
  const inspect = (client_id: string) =>
    okAdmin(service, 'POST', `/admin/clients/${encodeURIComponent(client_id)}/fetch-document`)

  test('the document is fetched once, shown unchanged, and applied at once', async () => {
    const client_id = documents.publish('/inspected')
    await consent(client_id)
    documents.publish('/inspected', { client_name: 'Another name', extra: 1 })
    const before = documents.count('/inspected')
    expect(await inspect(client_id)).toEqual({
      document: { client_id, client_name: 'Another name', redirect_uris: [REDIRECT_URI], extra: 1 },
    })
    expect(documents.count('/inspected') - before).toBe(1)
    expect((await service.app.store.findClient({ client_id }))?.client_name).toBe('Another name')
  })

  test('an invalid document is shown with its errors, and the client is not changed', async () => {
    const client_id = documents.publish('/spoiled')
    await consent(client_id)
    const stored = await service.app.store.findClient({ client_id })
    documents.publish('/spoiled', { redirect_uris: [] })
    expect(await inspect(client_id)).toMatchObject({
      document: { client_id, redirect_uris: [] },
      problem: expect.stringContaining('redirect_uris'),
    })
    documents.publish('/spoiled', {}, { status: 404 })
    expect(await inspect(client_id)).toEqual({ problem: 'the client document answers with status 404' })
    expect(await service.app.store.findClient({ client_id })).toEqual(stored)
  })
})
