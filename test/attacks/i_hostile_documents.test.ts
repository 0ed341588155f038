// Section I of the attack list: documents and bodies that try to use much memory, or to cause long responses.
import v8 from 'node:v8'
import vm from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDocuments } from '../../src/oauth/clients/document_cache.ts'
import { callAdmin } from '../support/admin.ts'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { authorizeUrl, post, register } from '../support/flow.ts'
import { REDIRECT_URI, startService, type TestService } from '../support/service.ts'

const MAX_ANSWER = 8 * 1024
/** Size of a document in bytes, and the number of documents before memory is measured. */
const [SIZE, WARM] = [60_000, 40]
/** Size of a form in bytes. */
const FORM = 63_000

let service: TestService
let documents: DocumentServer
beforeAll(async () => {
  documents = await DocumentServer.start()
  service = await startService(LOCAL_DOCUMENTS)
})
afterAll(async () => {
  documents.close()
  await service.close()
})

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc') as () => void
function heapInUse(): number {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Members as JSON text that fill a body of `size` bytes. They come last, so that they override earlier members. */
function hostileMembers(size: number): [name: string, members: string][] {
  const many = (item: string) => `[${Array(Math.floor(size / (item.length + 1))).fill(item)}]`
  const long = JSON.stringify('x'.repeat(size))
  const deep = '['.repeat(size / 2) + ']'.repeat(size / 2)
  const each = (length: number, member: (i: number) => string) => String(Array.from({ length }, (_, i) => member(i)))
  const lists = ['response_types', 'grant_types', 'redirect_uris'].flatMap((name): [string, string][] => [
    [`${name} of numbers`, `"${name}":${many('0')}`],
    [`${name} of long texts`, `"${name}":${many(`"${'y'.repeat(3000)}"`)}`],
    [`${name} of short texts`, `"${name}":${many('"<&>"')}`],
    [`${name} of objects`, `"${name}":${many('{"a":[{"b":null}]}')}`],
    [`${name}, nested deeply`, `"${name}":${deep}`],
    [`${name}, one long text`, `"${name}":[${long}]`],
  ])
  const texts = ['client_id', 'client_name', 'scope', 'token_endpoint_auth_method', 'application_type', 'client_secret']
  return [
    ...lists,
    ...texts.map((name): [string, string] => [`a long ${name}`, `"${name}":${long}`]),
    ['a name of signs', `"client_name":"${'&<>'.repeat(size / 3)}"`],
    ['a name that is nested deeply', `"client_name":${deep}`],
    ['redirect URIs that are fine', `"redirect_uris":${many(`"${REDIRECT_URI}"`)}`],
    [
      'redirect URIs that differ',
      `"redirect_uris":[${each(size / 40, (i) => `"http://evil.example/${'z'.repeat(9)}/${i}"`)}]`,
    ],
    ['unknown members', each(size / 12, (i) => `"m${i}":${i}`)],
    ['an unknown member, nested deeply', `"x":${deep}`],
    ['members of every object', `"__proto__":${many('0')},"constructor":${long},"toString":1`],
  ]
}

describe('I22 hostile documents', () => {
  test('200 hostile documents without a session retain less than a quarter of their size, and no answer exceeds 8 KB', async () => {
    const shapes = hostileMembers(SIZE)
    const paths = Array.from({ length: 200 }, (_, i) => {
      const [name, members] = shapes[i % shapes.length] as [string, string]
      const client_id = `${documents.origin}/hostile/${i}`
      const body = `{"client_id":"${client_id}","client_name":"Desk","redirect_uris":["${REDIRECT_URI}"],${members}}`
      // A separate text that is not built while it is sent, because that memory would be counted.
      return { name, client_id: documents.publish(`/hostile/${i}`, {}, { body: Buffer.from(body).toString('latin1') }) }
    })
    const ask = (client_id: string, accept: string) =>
      fetch(authorizeUrl(service, { client_id }), { redirect: 'manual', headers: { accept } })
    let before = 0
    for (const [i, { name, client_id }] of paths.entries()) {
      // Every document shape was read once by then, so that lazily loaded code is not counted.
      if (i === WARM) before = heapInUse()
      // Each document counts as a host of its own; the limit per host is I16.
      if (i % 40 === 0) Object.assign(service.app.documents, { hosts: openDocuments(service.app.store).hosts })
      if (i % 40 === 0) await service.app.store.sweepBuckets({ now: Number.MAX_SAFE_INTEGER })
      for (const accept of ['application/json', 'text/html']) {
        const answer = await ask(client_id, accept)
        const text = await answer.text()
        expect([400, 303], `${name}: ${text.slice(0, 300)}`).toContain(answer.status)
        expect(Buffer.byteLength(text), name).toBeLessThanOrEqual(MAX_ANSWER)
      }
    }
    await expect.poll(() => heapInUse() - before, { timeout: 10_000 }).toBeLessThan(((paths.length - WARM) * SIZE) / 4)
    const trails = await callAdmin(service, 'GET', '/admin/connections?limit=2000')
    expect(Buffer.byteLength(JSON.stringify(trails.body))).toBeLessThan(200 * 1024)
  })

  test('ten problems of a document with many problems are reported', async () => {
    const members = Object.fromEntries(
      ['client_name', 'scope', 'application_type', 'token_endpoint_auth_method'].map((name) => [name, 1]),
    )
    const client_id = documents.publish('/faults', { ...members, grant_types: Array(10).fill(1) })
    const answer = await fetch(authorizeUrl(service, { client_id }), { headers: { accept: 'application/json' } })
    const { error_description } = (await answer.json()) as { error_description: string }
    expect(error_description.split('; ')).toHaveLength(11)
    expect(error_description).toMatch(/; and 4 more problems$/)
  })
})

test('I23 hostile registrations and admin bodies are refused in less than 8 KB', async () => {
  for (const [name, members] of hostileMembers(200_000)) {
    const body = `{"client_name":"Desk","redirect_uris":["${REDIRECT_URI}"],${members}}`
    const registered = await register(service, body)
    const text = await registered.text()
    expect(registered.status, `${name}: ${text.slice(0, 300)}`).toBeLessThan(500)
    expect(text.length, name).toBeLessThanOrEqual(MAX_ANSWER)
    for (const [method, path] of [
      ['POST', '/admin/clients'],
      ['PATCH', '/admin/clients/none'],
      ['POST', '/admin/resources'],
      ['POST', '/admin/providers'],
      ['POST', '/admin/users'],
    ] as const) {
      const answer = await callAdmin(service, method, path, body)
      expect(answer.status, `${method} ${path} ${name}`).toBeLessThan(500)
      expect(JSON.stringify(answer.body).length, `${method} ${path} ${name}`).toBeLessThanOrEqual(MAX_ANSWER)
    }
  }
})

test('I24 unknown client ids in forms of 64 KB retain less than a quarter of that memory', async () => {
  const ask = async (i: number) => {
    const body = `grant_type=client_credentials&client_id=nobody-knows-this-${i}&client_secret=x&pad=${'p'.repeat(FORM)}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await fetch(`${service.issuer}/oauth/token`, { method: 'POST', headers, body })
    expect(answer.status).toBe(401)
    await answer.arrayBuffer()
  }
  const askAll = async (from: number, to: number) => {
    for (let i = from; i < to; i += 10) await Promise.all(Array.from({ length: 10 }, (_, n) => ask(i + n)))
  }
  await askAll(0, 100)
  const before = heapInUse()
  await askAll(100, 1000)
  await expect.poll(() => heapInUse() - before, { timeout: 10_000 }).toBeLessThan((900 * FORM) / 4)
})

test('I25 assertions, tokens and proofs with hostile members are refused with short messages', async () => {
  const segment = (text: string) => Buffer.from(text).toString('base64url')
  for (const [name, members] of hostileMembers(4000)) {
    for (const typ of ['oauth-id-jag+jwt', 'at+jwt', 'dpop+jwt']) {
      const jwt = [`{"alg":"ES256","typ":"${typ}",${members}}`, `{"iss":"x",${members}}`, 'x'].map(segment).join('.')
      const fields = {
        client_id: 'nobody',
        assertion: jwt,
        subject_token: jwt,
        token: jwt,
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      }
      for (const path of ['token', 'introspect', 'revoke']) {
        const { status, body } = await post(`${service.issuer}/oauth/${path}`, undefined, fields, {
          dpop: jwt.slice(0, 8000),
        })
        expect(status, `${path} ${name}`).toBeLessThan(500)
        expect(JSON.stringify(body).length, `${path} ${name}`).toBeLessThan(1000)
      }
    }
  }
})
