// Which language a page has: the cookie, ui_locales, Accept-Language, English.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { de } from '../../src/endpoints/messages/de.ts'
import { es } from '../../src/endpoints/messages/es.ts'
import { messagesOf, preferred } from '../../src/endpoints/pages/language.ts'
import type { RequestHead } from '../../src/http/message.ts'
import { Browser, formsOf } from '../support/browser.ts'
import { authorizeUrl, signIn } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

const head = (headers: RequestHead['headers'], query = ''): RequestHead => ({
  method: 'GET',
  path: '/login',
  query,
  headers,
  repeated: [],
  remote: '127.0.0.1',
})

describe('Accept-Language (RFC 9110 §12.5.4)', () => {
  test.each([
    [undefined, 'en'],
    ['', 'en'],
    ['de', 'de'],
    ['DE', 'de'],
    ['de-AT', 'de'],
    ['es-419,es;q=0.9,en;q=0.8', 'es'],
    ['fr-FR,fr;q=0.9', 'en'],
    ['fr-FR,fr;q=0.9,de;q=0.5,en;q=0.4', 'de'],
    ['en;q=0.5,de;q=0.9', 'de'],
    ['en-US,en;q=0.9,de;q=0.8', 'en'],
    ['de,es', 'de'],
    ['es,de', 'es'],
    ['de;q=0', 'en'],
    ['de;q=0.000,es;q=0.001', 'es'],
    ['*', 'en'],
    ['*;q=0.5,es;q=0.1', 'en'],
    ['en;q=0,*', 'de'],
    ['en;q=0,de;q=0,*;q=0.1', 'es'],
    ['*;q=0', 'en'],
    ['de ; q=0.3 , es ; Q=0.7', 'es'],
    // A malformed weight excludes its range, and no other one.
    ['de;q=2,es;q=0.1', 'es'],
    ['de;q=0.1234,es;q=0.1', 'es'],
    ['de;q=-1', 'en'],
    ['de;q=', 'en'],
    [',,;q=1,de', 'de'],
    ['deutsch', 'en'],
    ['__proto__,constructor;q=0.9,es;q=0.1', 'es'],
  ])('%s is %s', (header, language) => {
    expect(preferred(header).language).toBe(language)
  })
})

describe('the order of the choices', () => {
  const cookie = 'service_language=es'
  test.each([
    ['the cookie is before everything', { cookie, 'accept-language': 'de' }, 'ui_locales=de', 'es'],
    ['ui_locales is before Accept-Language', { 'accept-language': 'es' }, 'ui_locales=fr-CA+de-CH', 'de'],
    ['ui_locales without a known language leaves Accept-Language', { 'accept-language': 'es' }, 'ui_locales=fr', 'es'],
    [
      'ui_locales of the request that the login returns to',
      {},
      `redirect=${encodeURIComponent('/oauth/authorize?client_id=a&ui_locales=de')}`,
      'de',
    ],
    ['an unknown cookie is ignored', { cookie: 'service_language=tlh', 'accept-language': 'de' }, '', 'de'],
    [
      'of two cookies the first that names a language counts',
      { cookie: 'service_language=<b>; service_language=de; service_language=es' },
      '',
      'de',
    ],
    ['a malformed query is no error', {}, 'ui_locales=%ff%', 'en'],
  ])('%s', (_, headers, query, language) => {
    expect(messagesOf(head(headers, query)).language).toBe(language)
  })

  test('a posted form names the place that it returns to', () => {
    expect(messagesOf(head({}), '/oauth/authorize?ui_locales=es').language).toBe('es')
  })
})

describe('over HTTP', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
  })
  afterAll(() => service.close())

  test('ui_locales gives its language to the login page, to its problem, to the consent page, and to the page after a decision', async () => {
    const [browser, resource, client] = [new Browser(), await addResource(service), await addClient(service)]
    const { client_id } = client
    const login = await browser.follow(
      authorizeUrl(service, { client_id, resource: resource.uri, ui_locales: 'de-AT en' }),
    )
    const user = await addUser(service)
    const failed = await signIn(service, browser, login, user.email, 'wrong')
    const consent = await browser.follow((await signIn(service, browser, failed, user.email)).location ?? '')
    const [form] = formsOf(consent)
    const undecided = await browser.post(service.issuer + form?.action, Object.fromEntries(form?.fields ?? []))
    expect(undecided.status).toBe(400)
    for (const [page, text] of [
      [login, 'Passwort'],
      [failed, de.login.failure],
      [consent, de.consent.scopes],
      [undecided, de.consent.noDecision],
    ] as const) {
      expect(page.text).toContain('<html lang="de">')
      expect(page.text).toContain(text)
    }
  })

  test('an error page has the language of the browser, and the description in English, marked as such', async () => {
    const url = authorizeUrl(service, { client_id: 'unknown' })
    const { status, text } = await new Browser().open(url, { headers: { 'accept-language': 'es' } })
    expect([status, text.includes('<html lang="es">')]).toEqual([400, true])
    expect(text).toContain(`role="alert">${es.errors.texts.invalid_client}`)
    expect(text).toContain('<code lang="en">the client is not known</code>')
  })

  test('an answer to a program stays English', async () => {
    const headers = { accept: 'application/json', 'accept-language': 'de' }
    const { text } = await new Browser().open(authorizeUrl(service, { client_id: 'unknown' }), { headers })
    expect(JSON.parse(text)).toMatchObject({ error_description: 'the client is not known' })
  })
})
