// The descriptions of scopes in the language of the user, from every way to write them to the pages that show them.
import { afterAll, beforeAll, describe, expect, test as plain } from 'vitest'
import { de } from '../../src/endpoints/messages/de.ts'
import { en } from '../../src/endpoints/messages/en.ts'
import { es } from '../../src/endpoints/messages/es.ts'
import { descriptionOf } from '../../src/endpoints/pages/scope_text.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { envOf, runHere } from '../support/cli.ts'
import { flawsOf } from './probe.ts'
import { logIn, openWorld, setUp, type World } from './scenes.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const DESCRIPTIONS = { de: 'Ihre Notizen lesen', fr: 'Lire vos notes' }
const SCOPE = { name: 'mcp:read', description: 'Read your notes', descriptions: DESCRIPTIONS }

describe('the description of a scope', () => {
  plain.each([
    ['the language of the page', de, SCOPE, '<bdi>Ihre Notizen lesen</bdi>'],
    ['a region of the language', de, { ...SCOPE, descriptions: { 'de-AT': 'Servus' } }, '<bdi>Servus</bdi>'],
    ['English, which says so on a page in another language', es, SCOPE, '<bdi lang="en">Read your notes</bdi>'],
    ['English on an English page', en, SCOPE, '<bdi>Read your notes</bdi>'],
    [
      'the language of the same text',
      es,
      { description: 'Lire', descriptions: { fr: 'Lire' } },
      '<bdi lang="fr">Lire</bdi>',
    ],
    [
      'the first translation without a description',
      es,
      { description: '', descriptions: DESCRIPTIONS },
      '<bdi lang="de">Ihre Notizen lesen</bdi>',
    ],
    ['unmarked without translations', es, { description: 'Leer' }, '<bdi>Leer</bdi>'],
    ['escaped', de, { description: '', descriptions: { de: '<b>' } }, '<bdi>&lt;b&gt;</bdi>'],
  ])('is in %s', (_, messages, scope, shown) => {
    expect(descriptionOf(messages, scope)?.text).toBe(shown)
  })

  plain('is none where nothing is written', () => {
    expect(descriptionOf(en, { description: '' })).toBeUndefined()
    expect(descriptionOf(en, undefined)).toBeUndefined()
  })
})

describe('operators', () => {
  const uri = 'https://notes.example.com/mcp'
  const created = () =>
    okAdmin<{ id: string; scopes: unknown }>(world.service, 'POST', '/admin/resources', {
      slug: 'notes',
      uri,
      backend_kind: 'mint',
      scopes: [SCOPE],
    })

  plain('write and read the descriptions by REST and by the command line, and the trail has the change', async () => {
    const { id, scopes } = await created()
    expect(scopes).toEqual([{ ...SCOPE, upstream: '' }])
    const scope = { name: 'mcp:read', descriptions: { es: 'Leer sus notas' } }
    const { code, stderr } = await runHere(
      ['admin', 'resource', 'update', '--slug', 'notes', '--scopes', JSON.stringify(scope)],
      envOf(world.service),
    )
    expect([code, stderr]).toEqual([0, ''])
    const shown = await okAdmin<{ scopes: unknown }>(world.service, 'GET', `/admin/resources/${id}`)
    expect(shown.scopes).toEqual([{ ...scope, description: '', upstream: '' }])
    const { app } = world.service
    const events = await app.store.listAudit({ action: 'resource_updated', since: '', limit: 5, offset: 0 })
    expect(JSON.stringify(events)).toContain('scopes')
    await okAdmin(world.service, 'DELETE', `/admin/resources/${id}`)
  })

  plain.each([
    ['a tag that is none', { Deutsch: 'x' }],
    ['an empty text', { de: '' }],
    ['a text that is too long', { de: 'x'.repeat(1001) }],
    ['a text with line breaks', { de: 'a\nb' }],
    ['too many languages', Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`de-${1000 + i}`, 'x']))],
    ['no texts', 'x'],
  ])('are refused with %s', async (_, descriptions) => {
    const body = { slug: 'bad', uri, backend_kind: 'mint', scopes: [{ name: 'a', descriptions }] }
    const { status, body: answer } = await callAdmin(world.service, 'POST', '/admin/resources', body)
    expect([status, JSON.stringify(answer)]).toEqual([400, expect.stringContaining('descriptions')])
  })
})

describe(`in ${CHROMIUM}`, () => {
  test.for([
    ['en', 'Read your notes', null],
    ['de', 'Ihre Notizen lesen', null],
    ['es', 'Read your notes', 'en'],
  ] as const)(
    'the consent page and the account page have the text in the language %s',
    async ([locale, text, lang], { open }) => {
      const { page, complaints } = await open({ locale, viewport: { width: 390, height: 844 } })
      const { app } = world.service
      const { resource, url, user } = await setUp(world, { scope: 'mcp:read' })
      await okAdmin(world.service, 'PATCH', `/admin/resources/${resource.id}`, { scopes: [SCOPE] })
      expect((await app.store.findResourceByName({ name: resource.id }))?.scopes[0]?.descriptions).toEqual(DESCRIPTIONS)
      await page.goto(url)
      await logIn(page, user.email)
      const shown = page.locator('bdi', { hasText: text })
      expect(await shown.getAttribute('lang')).toBe(lang)
      await addAxe(page)
      expect([...(await flawsOf(page)), ...(await findingsOf(page))]).toEqual([])
      await page.locator('button[value=allow]').click()
      await page.waitForURL(`${world.application}?**`)
      await page.goto(`${world.service.issuer}/account`)
      expect(await page.locator('bdi', { hasText: text }).getAttribute('lang')).toBe(lang)
      await addAxe(page)
      expect([...(await flawsOf(page)), ...(await findingsOf(page))]).toEqual([])
      expect(complaints).toEqual([])
    },
  )
})
