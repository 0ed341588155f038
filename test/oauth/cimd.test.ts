// Client documents: the rules for their URLs and for what is in them, and how often anybody is asked for one.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { App } from '../../src/context.ts'
import { FetchError } from '../../src/net/error.ts'
import type { FetchReply } from '../../src/net/fetcher.ts'
import { forEachStanding } from '../../src/net/standing.ts'
import { isUrlShaped, resolveDocumentClient } from '../../src/oauth/clients/cimd.ts'
import { openDocuments } from '../../src/oauth/clients/document_cache.ts'
import { keepDocumentClient } from '../../src/oauth/clients/document_client.ts'
import type { Client } from '../../src/records/client.ts'
import type { InputOf } from '../../src/store/operations.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { aloneWithBuckets } from '../support/buckets.ts'
import { testClock } from '../support/clock.ts'
import { silentLog } from '../support/log.ts'
import { refusalOf } from '../support/thrown.ts'

const URL_OF = 'https://app.example/client.json'
const REDIRECT_URI = 'https://app.example/callback'

type Answer = Partial<FetchReply> | Error
/** A service of which only documents exist: what is stored, and what the network answers. */
function setUp({ cimd = {}, mode = 'open' } = {}) {
  const stored = new Map<string, Client>()
  const clock = testClock()
  const fetch = vi.fn(async (url: string): Promise<FetchReply> => {
    const answer = answers.get(url) ?? documentOf({ client_id: url })
    if (answer instanceof Error) throw answer
    return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.alloc(0), ...answer }
  })
  const answers = new Map<string, Answer>()
  const store = {
    findClient: async ({ client_id }: { client_id: string }) => stored.get(client_id),
    createClient: async (client: Client) => {
      stored.set(client.client_id, client)
      return 'created'
    },
    updateClient: async (client: Client) => {
      stored.set(client.client_id, { ...client, version: client.version + 1 })
      return 'updated'
    },
    noteDocument: async ({ client_id, fetched_at, error }: InputOf<'noteDocument'>) => {
      const client = stored.get(client_id) as Client
      const document_fetched_at = fetched_at ?? client.document_fetched_at
      stored.set(client_id, { ...client, document_fetched_at, document_error: error })
    },
    findSetting: async () => undefined,
    listConsenters: async () => [],
    recorded: (op: 'createClient' | 'updateClient', client: Client) => store[op](client),
    ...aloneWithBuckets,
  }
  const config = {
    device: { enabled: false },
    cimd: {
      ...{ enabled: true, require_https: true, cache_ttl: 3600, fetch_timeout: 10, stale_if_error: 7 * 86_400 },
      ...{ allowed_hosts: [], blocked_hosts: [] },
      ...cimd,
    },
    dcr: { mode, approved_redirects: [], redirect_schemes: ['cursor'] },
    xaa: { enabled: false },
  }
  const parts = { config, store, clock, documents: openDocuments(store), fetchers: forEachStanding(() => ({ fetch })) }
  const app = { ...parts, log: silentLog, metrics: new Metrics() } as unknown as App
  return {
    app,
    stored,
    clock,
    fetch,
    answers,
    resolve: (client_id: string, asker = ASKER) => resolveDocumentClient(app, client_id, asker),
  }
}

const ASKER = { address: '192.0.2.1' }

const documentOf = (changes: Record<string, unknown> = {}): { body: Buffer } => ({
  body: Buffer.from(
    JSON.stringify({ client_id: URL_OF, client_name: 'App', redirect_uris: [REDIRECT_URI], ...changes }),
  ),
})

test.each(['https://a.example/x', 'http://a.example', 'HTTPS://a.example', 'https:a', 'http:'])(
  'the client_id %s is a URL',
  (id) => {
    expect(isUrlShaped(id)).toBe(true)
  },
)
test.each(['c_1', 'app.example/https://x', 'ftp://a.example/x', 'urn:https:x', ' https://a.example/x'])(
  'the client_id %s is not a URL',
  (id) => {
    expect(isUrlShaped(id)).toBe(false)
  },
)

describe('the URL of a client document', () => {
  test.each([
    URL_OF,
    'https://app.example/a',
    'https://app.example/a/',
    'https://app.example/a/b?c=d',
    'https://app.example:8443/a',
    'https://xn--bcher-kva.example/a',
    'https://app.example/.well-known/client',
    'https://app.example/a%20b',
  ])('%s is fetched', async (client_id) => {
    const { resolve } = setUp()
    expect(await resolve(client_id)).toMatchObject({ client_id, registration_source: 'cimd', status: 'active' })
  })

  test.each([
    ['no path', 'https://app.example'],
    ['no path', 'https://app.example/'],
    ['no path', 'https://app.example?a=/b'],
    ['empty segments', 'https://app.example//'],
    ['empty segments', 'https://app.example//a'],
    ['empty segments', 'https://app.example/a//b'],
    ['dot segments', 'https://app.example/.'],
    ['dot segments', 'https://app.example/..'],
    ['dot segments', 'https://app.example/a/../b'],
    ['dot segments', 'https://app.example/a/.'],
    ['dot segments', 'https://app.example/%2e'],
    ['dot segments', 'https://app.example/%2E%2e/a'],
    ['dot segments', 'https://app.example/.%2e'],
    ['a fragment', 'https://app.example/a#b'],
    ['a fragment', 'https://app.example/a#'],
    ['a user', 'https://user@app.example/a'],
    ['a user', 'https://user:password@app.example/a'],
    ['a user', 'https://@app.example/a'],
    ['http', 'http://app.example/a'],
    ['another spelling', 'HTTPS://app.example/a'],
    ['another spelling', 'https://APP.example/a'],
    ['another spelling', 'https://app.example:443/a'],
    ['another spelling', 'https://app.example:08443/a'],
    ['another spelling', 'https:/app.example/a'],
    ['another spelling', 'https:\\\\app.example\\a'],
    ['another spelling', 'https://app.example/a\\b'],
    ['another spelling', 'https://app.example/a b'],
    ['another spelling', 'https://app.example/a\tb'],
    ['another spelling', 'https://app.example/a\n'],
    ['another spelling', 'https://app.example/ü'],
    ['another spelling', 'https://bücher.example/a'],
    ['another spelling', 'https://аpp.example/a'],
    ['another spelling', 'https://2130706433/a'],
    ['another spelling', 'https://127.1/a'],
    ['no host', 'https:///a'],
    ['a bad port', 'https://app.example:99999/a'],
    ['10 000 characters', `https://app.example/${'a'.repeat(10_000)}`],
  ])('a URL with %s is refused before anything is fetched: %s', async (_what, client_id) => {
    const { resolve, fetch } = setUp()
    expect(await refusalOf(() => resolve(client_id))).toMatchObject({ code: 'invalid_client', status: 400 })
    expect(fetch).not.toHaveBeenCalled()
  })

  test('an http URL is fetched only when cimd.require_https is false', async () => {
    const { resolve, fetch } = setUp({ cimd: { require_https: false } })
    expect((await resolve('http://app.example/a')).client_id).toBe('http://app.example/a')
    expect(fetch.mock.calls[0]?.at(1)).toMatchObject({ allowHttp: true })
    const strict = setUp()
    await strict.resolve(URL_OF)
    expect(strict.fetch.mock.calls[0]?.at(1)).toMatchObject({ allowHttp: false, timeoutMs: 10_000 })
  })

  test('a client document is an unknown client when cimd.enabled is false', async () => {
    const { resolve, fetch } = setUp({ cimd: { enabled: false } })
    expect((await refusalOf(() => resolve(URL_OF))).message).toBe('the client is not known')
    expect(fetch).not.toHaveBeenCalled()
  })
})

describe('a client document', () => {
  const outcome = async (answer: Answer) => {
    const parts = setUp()
    parts.answers.set(URL_OF, answer)
    return parts.resolve(URL_OF).then(
      (client) => client,
      (error: { reason: string }) => error.reason,
    )
  }

  test('the smallest document is a public web client with the grants authorization_code and refresh_token', async () => {
    expect(await outcome(documentOf())).toMatchObject({
      client_id: URL_OF,
      client_name: 'App',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'web',
      scope: '',
      is_agent: false,
      secrets: undefined,
    })
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['its scope is its ceiling', { scope: 'mcp:read mcp:read' }, { scope: 'mcp:read' }],
    [
      'machine grants are left out',
      { grant_types: ['authorization_code', 'client_credentials'] },
      { grant_types: ['authorization_code'] },
    ],
    ['a native one says so', { application_type: 'native' }, { application_type: 'native' }],
    [
      'unknown members are ignored',
      { logo_uri: 'javascript:x', is_admin: true, is_agent: true, agent: true },
      { is_agent: false },
    ],
    [
      'a document cannot set its own status, version or dates',
      { status: 'suspended', version: 9, issued_at: 1 },
      { status: 'active', version: 0 },
    ],
    [
      'several redirect URIs',
      { redirect_uris: [REDIRECT_URI, 'http://localhost/cb'] },
      { redirect_uris: [REDIRECT_URI, 'http://localhost/cb'] },
    ],
  ])('%s', async (_rule, changes, expected) => {
    expect(await outcome(documentOf(changes))).toMatchObject(expected)
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['another client_id', { client_id: 'https://app.example/other.json' }, 'cimd_client_id'],
    ['a client_id with a slash more', { client_id: `${URL_OF}/` }, 'cimd_client_id'],
    ['a client_id in another case', { client_id: 'https://App.example/client.json' }, 'cimd_client_id'],
    ['a client_id with a query more', { client_id: `${URL_OF}?` }, 'cimd_client_id'],
    ['a client_id with the default port', { client_id: 'https://app.example:443/client.json' }, 'cimd_client_id'],
    ['no client_id', { client_id: undefined }, 'cimd_document'],
    ['no name', { client_name: undefined }, 'cimd_document'],
    ['a blank name', { client_name: ' ' }, 'cimd_document'],
    ['a name of null, beside a home page', { client_name: null, client_uri: URL_OF }, 'cimd_document'],
    ['a name that is not a string', { client_name: 7 }, 'cimd_document'],
    ['a name of 256 characters', { client_name: 'x'.repeat(256) }, 'cimd_document'],
    ['no redirect URI', { redirect_uris: [] }, 'cimd_document'],
    ['21 redirect URIs', { redirect_uris: Array(21).fill(REDIRECT_URI) }, 'cimd_document'],
    ['an http redirect URI elsewhere', { redirect_uris: ['http://app.example/cb'] }, 'cimd_document'],
    ['a private-use scheme that is not listed', { redirect_uris: ['unlisted://cb'] }, 'cimd_document'],
    ['a javascript: redirect URI', { redirect_uris: ['javascript:alert(1)'] }, 'cimd_document'],
    ['a client_secret', { client_secret: 'x' }, 'cimd_document'],
    ['client_secret_basic', { token_endpoint_auth_method: 'client_secret_basic' }, 'cimd_auth_method'],
    ['client_secret_post', { token_endpoint_auth_method: 'client_secret_post' }, 'cimd_auth_method'],
    ['client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }, 'cimd_auth_method'],
    [
      'private_key_jwt, which would be a downgrade',
      { token_endpoint_auth_method: 'private_key_jwt' },
      'cimd_auth_method',
    ],
    ['machine grants only', { grant_types: ['client_credentials'] }, 'cimd_grant_types'],
    ['another response type', { response_types: ['token'] }, 'cimd_grant_types'],
  ])('a document with %s is refused', async (_what, changes, reason) => {
    expect(await outcome(documentOf(changes))).toBe(reason)
  })

  test.each<[string, Answer, string]>([
    ['201', { ...documentOf(), status: 201 }, 'cimd_status'],
    ['206', { ...documentOf(), status: 206 }, 'cimd_status'],
    ['404', { ...documentOf(), status: 404 }, 'cimd_status'],
    ['500', { ...documentOf(), status: 500 }, 'cimd_unavailable'],
    ['HTML', { ...documentOf(), headers: { 'content-type': 'text/html' } }, 'cimd_content_type'],
    ['no type', { ...documentOf(), headers: {} }, 'cimd_content_type'],
    ['a list', { body: Buffer.from('[]') }, 'cimd_document'],
    ['half a document', { body: Buffer.from('{"client_id":') }, 'cimd_document'],
    ['bytes that are not UTF-8', { body: Buffer.from([0x7b, 0xff, 0x7d]) }, 'cimd_document'],
    ['a redirect', new FetchError('redirect', 'app.example', '302'), 'cimd_redirect'],
    ['a blocked address', new FetchError('blocked_address', 'app.example'), 'cimd_blocked_address'],
  ])('a response with %s is refused', async (_what, answer, reason) => {
    expect(await outcome(answer)).toBe(reason)
  })

  test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/client-id+json'])(
    'the content type %s is accepted',
    async (type) => {
      expect(await outcome({ ...documentOf(), headers: { 'content-type': type } })).toMatchObject({ client_id: URL_OF })
    },
  )

  test('every network failure has the same description for the caller', async () => {
    const reasons = [
      'blocked_address',
      'dns_failed',
      'connect_failed',
      'tls_failed',
      'timeout',
      'redirect',
      'too_large',
    ] as const
    const words = new Set<string>()
    for (const reason of reasons) {
      const parts = setUp()
      parts.answers.set(URL_OF, new FetchError(reason, 'app.example'))
      const refusal = await refusalOf(() => parts.resolve(URL_OF))
      words.add(`${refusal.status} ${refusal.code}: ${refusal.message}`)
    }
    expect([...words]).toEqual(['400 invalid_client: the client document cannot be fetched'])
  })

  test('an internal error is not cached as a failure of the document', async () => {
    const { resolve, answers, fetch } = setUp()
    answers.set(URL_OF, new Error('out of file descriptors'))
    await expect(resolve(URL_OF)).rejects.toThrow('out of file descriptors')
    answers.delete(URL_OF)
    expect((await resolve(URL_OF)).client_id).toBe(URL_OF)
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  test('status, version and dates of a stored client do not come from its document', async () => {
    const { app, resolve, answers, stored, clock } = setUp()
    await keepDocumentClient(app, await resolve(URL_OF), { actor_id: 'u_1', ip: '' })
    const before = stored.get(URL_OF) as Client
    clock.advance(3601)
    answers.set(URL_OF, documentOf({ client_name: 'New name', status: 'suspended' }))
    const now = clock.now()
    expect(await resolve(URL_OF)).toEqual({
      ...before,
      client_name: 'New name',
      updated_at: now,
      document_fetched_at: now,
      version: 2,
    })
    clock.advance(3601)
    expect((await resolve(URL_OF)).version).toBe(2)
  })
})

describe('number of fetches', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
  const slow = 'too many client documents of this host'

  test('1000 different URLs of one host cause 50 fetches, and the other requests get Retry-After', async () => {
    const { resolve, fetch } = setUp()
    const ids = Array.from({ length: 1000 }, (_, i) => `https://victim.example/${i}`)
    const outcomes = await Promise.all(
      ids.map((id, i) =>
        resolve(id, { address: `caller ${i}` }).then(
          () => 'ok',
          (error: { message: string; status: number }) => `${error.status} ${error.message}`,
        ),
      ),
    )
    expect(new Set(outcomes)).toEqual(new Set(['ok', `429 ${slow}`]))
    expect(fetch).toHaveBeenCalledTimes(50)
    expect((await resolve('https://other.example/a')).client_id).toBe('https://other.example/a')
    const refusal = await refusalOf(() => resolve('https://victim.example/more'))
    expect(refusal.more.headers).toEqual({ 'retry-after': '1' })
    vi.advanceTimersByTime(1000)
    await Promise.allSettled(Array.from({ length: 100 }, (_, i) => resolve(`https://victim.example/later-${i}`)))
    expect(fetch).toHaveBeenCalledTimes(50 + 1 + 10)
  })

  test('URLs on other ports of a host share its limit', async () => {
    const { resolve, fetch } = setUp()
    const ids = Array.from({ length: 200 }, (_, i) => `https://victim.example:${1000 + i}/a`)
    await Promise.allSettled(ids.map((id) => resolve(id)))
    expect(fetch).toHaveBeenCalledTimes(50)
  })

  test('a document that was not fetched because of the limit of its host is not cached as failed', async () => {
    const { resolve, app } = setUp()
    await Promise.allSettled(Array.from({ length: 100 }, (_, i) => resolve(`https://victim.example/${i}`)))
    expect((await refusalOf(() => resolve('https://victim.example/late'))).message).toBe(slow)
    Object.assign(app.documents, { hosts: openDocuments(aloneWithBuckets).hosts })
    expect((await resolve('https://victim.example/late')).client_id).toBe('https://victim.example/late')
  })

  test('a fresh document is used without a fetch, also repeatedly', async () => {
    const { resolve, fetch } = setUp()
    for (let i = 0; i < 200; i++) await resolve(URL_OF)
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  test('a hundred concurrent requests for one URL cause one fetch, and use one token of the rate limit of its host', async () => {
    const { resolve, fetch } = setUp()
    const clients = await Promise.all(Array.from({ length: 100 }, () => resolve(URL_OF)))
    expect(new Set(clients.map(({ client_id }) => client_id))).toEqual(new Set([URL_OF]))
    expect(fetch).toHaveBeenCalledTimes(1)
  })

  test('a document is stored only when a user consents to its client, and not again after it was deleted', async () => {
    const { app, resolve, stored } = setUp()
    const client = await resolve(URL_OF)
    expect([client.version, stored.size]).toEqual([0, 0])
    await keepDocumentClient(app, client, { actor_id: 'u_1', ip: '' })
    expect(await resolve(URL_OF)).toMatchObject({ client_id: URL_OF, version: 1 })
    stored.delete(URL_OF)
    expect(await resolve(URL_OF)).toMatchObject({ client_id: URL_OF, version: 0 })
    expect(stored.size).toBe(0)
  })

  test('a stored document may change ten times at once and then once a minute, and a refused change is not cached', async () => {
    const { app, resolve, answers, stored, clock } = setUp()
    await keepDocumentClient(app, await resolve(URL_OF), { actor_id: 'u_1', ip: '' })
    const change = async (i: number) => {
      clock.advance(3601)
      answers.set(URL_OF, documentOf({ client_name: `Name ${i}` }))
      return resolve(URL_OF).then(
        ({ client_name }) => client_name,
        ({ reason, status }) => `${status} ${reason}`,
      )
    }
    for (let i = 0; i < 10; i++) expect(await change(i)).toBe(`Name ${i}`)
    expect(await change(10)).toBe('429 cimd_changes')
    expect(stored.get(URL_OF)?.client_name).toBe('Name 9')
    vi.advanceTimersByTime(60_000)
    expect(await change(11)).toBe('Name 11')
  })
})

describe('a document that can no longer be fetched', () => {
  const HEADERS = { 'content-type': 'application/json' }
  const WEEK = 7 * 86_400
  /** A client, stored unless a user has not consented, whose copy is no longer fresh. */
  async function staleScene({ cimd = {}, isStored = true, control = 'max-age=3600' } = {}) {
    const parts = setUp({ cimd })
    parts.answers.set(URL_OF, { ...documentOf(), headers: { ...HEADERS, 'cache-control': control } })
    const client = await parts.resolve(URL_OF)
    if (isStored) await keepDocumentClient(parts.app, client, { actor_id: 'u_1', ip: '' })
    parts.clock.advance(3601)
    const asked = () => parts.fetch.mock.calls.length
    const reason = async () => (await refusalOf(() => parts.resolve(URL_OF))).reason
    const shown = () => parts.stored.get(URL_OF)
    return { ...parts, client, asked, reason, shown, fail: (answer: Answer) => parts.answers.set(URL_OF, answer) }
  }
  const network = (
    [
      ...(['blocked_address', 'dns_failed', 'connect_failed', 'tls_failed', 'timeout'] as const),
      ...(['redirect', 'too_large', 'bad_response'] as const),
    ] as const
  ).map((reason): [Answer, string] => [new FetchError(reason, 'app.example'), `cimd_${reason}`])
  const AWAY: [Answer, string][] = [
    ...network,
    ...[401, 403, 451].map((status): [Answer, string] => [{ status }, 'cimd_status']),
    ...[429, 500, 503].map((status): [Answer, string] => [{ status }, 'cimd_unavailable']),
    [{ body: Buffer.from('<h1>Blocked</h1>'), headers: { 'content-type': 'text/html' } }, 'cimd_content_type'],
    [{ body: Buffer.from('{"client_id":') }, 'cimd_document'],
    [documentOf({ redirect_uris: [] }), 'cimd_document'],
    [documentOf({ client_id: 'https://app.example/other' }), 'cimd_client_id'],
    [documentOf({ grant_types: ['client_credentials'] }), 'cimd_grant_types'],
    [documentOf({ token_endpoint_auth_method: 'client_secret_basic' }), 'cimd_auth_method'],
  ]

  test.each(AWAY)(
    'a stored client continues for cimd.stale_if_error, with one fetch every half minute (%j)',
    async (away, reason) => {
      const scene = await staleScene()
      scene.fail(away)
      expect(await scene.resolve(URL_OF)).toMatchObject({ client_name: 'App', version: 1 })
      expect(scene.shown()).toMatchObject({
        document_error: expect.stringContaining(`(${reason})`),
        document_fetched_at: scene.client.document_fetched_at,
      })
      await scene.resolve(URL_OF)
      expect(scene.asked()).toBe(2)
      scene.clock.advance(31)
      await scene.resolve(URL_OF)
      expect(scene.asked()).toBe(3)
      scene.clock.advance(WEEK - 33)
      expect(await scene.resolve(URL_OF)).toMatchObject({ client_name: 'App' })
      scene.clock.advance(2)
      expect(await scene.reason()).toBe(reason)
      scene.fail(documentOf({ client_name: 'New name' }))
      scene.clock.advance(31)
      expect(await scene.resolve(URL_OF)).toMatchObject({ client_name: 'New name' })
      expect(scene.shown()).toMatchObject({ document_error: undefined, document_fetched_at: scene.clock.now() })
    },
  )

  test.each(['no-store', 'no-cache', 'max-age=0', 'max-age=3600, must-revalidate'])(
    'a stored client continues whatever its Cache-Control was: %s',
    async (control) => {
      const scene = await staleScene({ control })
      scene.fail({ status: 503 })
      expect(await scene.resolve(URL_OF)).toMatchObject({ client_name: 'App' })
    },
  )

  test.each(AWAY)('a client that no user consented to has no last copy (%j)', async (away, reason) => {
    const scene = await staleScene({ isStored: false })
    scene.fail(away)
    expect(await scene.reason()).toBe(reason)
  })

  test('cimd.stale_if_error 0 uses no copy that is not fresh', async () => {
    const scene = await staleScene({ cimd: { stale_if_error: 0 } })
    scene.fail({ status: 503 })
    expect(await scene.reason()).toBe('cimd_unavailable')
  })

  test('a stored client that was never fetched by this version has no last copy', async () => {
    const scene = await staleScene()
    scene.stored.set(URL_OF, { ...(scene.shown() as Client), document_fetched_at: undefined })
    scene.fail({ status: 503 })
    expect(await scene.reason()).toBe('cimd_unavailable')
  })

  test.each([404, 410])(
    '%i ends a stored client, also while its host fails afterwards, until the document is back',
    async (status) => {
      const scene = await staleScene()
      scene.fail({ status })
      expect(await scene.reason()).toBe('client_document_gone')
      expect(scene.shown()?.document_error).toBe(
        `the client document answers with status ${status} (client_document_gone)`,
      )
      expect(await scene.reason()).toBe('client_document_gone')
      expect(scene.asked()).toBe(2)
      for (const later of [{ status: 503 }, new FetchError('timeout', 'app.example')]) {
        scene.fail(later)
        scene.clock.advance(31)
        expect(await scene.reason()).toMatch(/^cimd_(unavailable|timeout)$/)
      }
      scene.fail(documentOf())
      scene.clock.advance(31)
      expect(await scene.resolve(URL_OF)).toMatchObject({ client_name: 'App' })
      expect(scene.shown()?.document_error).toBeUndefined()
    },
  )

  test('a refusal by the registration mode, or of changes that are too frequent, is no failure of the document', async () => {
    const scene = await staleScene()
    Object.assign(scene.app.config.dcr, { mode: 'approved_redirects' })
    expect(await scene.reason()).toBe('cimd_redirect_not_approved')
    expect(scene.shown()?.document_error).toBeUndefined()
  })

  test('an unchanged document is noted at most once a minute', async () => {
    const scene = await staleScene({ control: 'no-store' })
    const noted = vi.spyOn(scene.app.store, 'noteDocument')
    for (let i = 0; i < 5; i++) {
      await scene.resolve(URL_OF)
      scene.clock.advance(20)
    }
    expect([scene.asked(), noted.mock.calls.length]).toEqual([6, 2])
    expect(scene.shown()?.version).toBe(1)
  })

  test('a stored document is never fetched, but the rules for its URL hold', async () => {
    const scene = await staleScene()
    scene.stored.set(URL_OF, { ...(scene.shown() as Client), document_source: 'stored' })
    expect(await scene.resolve(URL_OF)).toMatchObject({ document_source: 'stored' })
    expect(scene.asked()).toBe(1)
    Object.assign(scene.app.config.cimd, { blocked_hosts: ['app.example'] })
    expect(await scene.reason()).toBe('client_host_not_allowed')
  })
})
