// The target of the error of an authorization request: the redirect URI at once, or a page with a link to it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, type Page } from '../support/browser.ts'
import { ask, DocumentServer, LOCAL_DOCUMENTS, signedIn } from '../support/documents.ts'
import { authorizeUrl } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

const LOOPBACK_URI = 'http://127.0.0.1:7777/callback'
const SELF_REGISTERED = { registration_source: 'dcr' } as const

let service: TestService
let documents: DocumentServer
let resource: Awaited<ReturnType<typeof addResource>>
beforeAll(async () => {
  service = await startService(LOCAL_DOCUMENTS)
  documents = await DocumentServer.start()
  resource = await addResource(service)
})
afterAll(async () => {
  documents.close()
  await service.close()
})

const WRONG: [Record<string, string | undefined>, string, string][] = [
  [{ code_challenge: undefined }, 'invalid_request', 'code_challenge is missing'],
  [{ scope: 'mcp:admin' }, 'invalid_scope', 'the resource does not declare mcp:admin; it declares mcp:read mcp:write'],
  [{ scope: undefined }, 'invalid_scope', 'scope is missing; '],
  [
    { resource: 'https://nowhere.example.com/' },
    'invalid_target',
    'the resource is not known: https://nowhere.example.com/',
  ],
]
const urlOf = (client_id: string, wrong: Record<string, string | undefined>, redirect_uri = REDIRECT_URI) =>
  authorizeUrl(service, { client_id, resource: resource.uri, redirect_uri, ...wrong })
/** The response in a URL, which must lead to the redirect URI. */
function responseIn(url = '', redirect_uri = REDIRECT_URI) {
  expect(url.startsWith(`${redirect_uri}?`), url).toBe(true)
  return Object.fromEntries(new URL(url).searchParams)
}
const linkIn = ({ text }: Page) => /<a [^>]*href="([^"]+)">Return to ([^<]+)<\/a>/.exec(text)
const unescaped = (text = '') => text.replaceAll('&amp;', '&')

/** A client that registered itself, and one that is a document. */
const strangers = async (redirect_uris = [REDIRECT_URI]) => [
  (await addClient(service, { redirect_uris, application_type: 'native' }, SELF_REGISTERED)).client_id,
  documents.publish(`/${redirect_uris.length}${Math.random()}.json`, { redirect_uris }),
]

describe('the error is redirected at once', () => {
  test('an error is redirected at once when the redirect URI is on loopback, where a command line client waits', async () => {
    for (const client_id of await strangers([LOOPBACK_URI]))
      for (const [wrong, error] of WRONG) {
        const page = await new Browser().open(urlOf(client_id, wrong, LOOPBACK_URI))
        expect(responseIn(page.location, LOOPBACK_URI)).toMatchObject({
          error,
          state: 'some-state',
          iss: service.issuer,
        })
      }
  })

  test('an error is redirected at once when an operator created the client', async () => {
    const { client_id } = await addClient(service)
    for (const [wrong, error] of WRONG)
      expect(responseIn((await new Browser().open(urlOf(client_id, wrong))).location)).toMatchObject({ error })
  })

  test('an error is redirected at once when a user is signed in', async () => {
    const browser = await signedIn(service, await addUser(service))
    for (const client_id of await strangers())
      for (const [wrong, error] of WRONG)
        expect(responseIn((await browser.open(urlOf(client_id, wrong))).location)).toMatchObject({ error })
  })
})

describe('the error is shown on a page', () => {
  test('the page shows the error, with a link "Return to HOST" to the error redirect', async () => {
    for (const client_id of await strangers())
      for (const [wrong, error, words] of WRONG) {
        const page = await new Browser().open(urlOf(client_id, wrong))
        expect([page.status, page.location]).toEqual([400, undefined])
        expect(page.text.toLowerCase()).toContain(words.toLowerCase())
        expect(page.text).not.toMatch(/http-equiv|<script/)
        const [, href, place] = linkIn(page) ?? []
        expect(place).toBe('client.example.com')
        expect(responseIn(unescaped(href))).toMatchObject({ error, state: 'some-state', iss: service.issuer })
      }
  })

  test('a client that is not a browser gets a problem document', async () => {
    const [client_id] = await strangers()
    const page = await ask(service, new Browser(), { client_id, code_challenge: undefined })
    expect([page.status, page.location]).toEqual([400, undefined])
    expect(JSON.parse(page.text)).toMatchObject({ error: 'invalid_request', status: 400 })
  })

  test('the refusal is in the activity of the client', async () => {
    const [client_id = ''] = await strangers()
    await new Browser().open(urlOf(client_id, { scope: undefined }))
    const trail = service.app.activity.list().find((each) => each.client_id === client_id)
    expect(trail?.steps.at(-1)).toMatchObject({
      step: 'authorize',
      status: 400,
      reason: 'missing_scope',
      detail: expect.stringContaining('oauth.require_scope: false'),
    })
  })

  test('A32 the link leads only to a registered redirect URI, and no parameter of the request is markup in the page', async () => {
    const [client_id = ''] = await strangers()
    const evil = await new Browser().open(urlOf(client_id, { code_challenge: undefined }, 'https://evil.example/cb'))
    expect([evil.status, linkIn(evil)]).toEqual([400, null])
    expect(evil.text).not.toContain('evil.example')
    const page = await new Browser().open(
      urlOf(client_id, { code_challenge: undefined, state: '"><script>alert(1)</script>' }),
    )
    expect(page.text).not.toContain('<script')
    expect(responseIn(unescaped(linkIn(page)?.[1])).state).toBe('"><script>alert(1)</script>')
    const lookalike = 'http://127.0.0.1.evil.example/cb'
    const posing = await addClient(service, {}, { ...SELF_REGISTERED, redirect_uris: [lookalike] })
    expect(
      (await new Browser().open(urlOf(posing.client_id, { scope: undefined }, lookalike))).location,
    ).toBeUndefined()
  })
})
