// A path that does not exist: a page for a browser, a problem document for everything else.
import { afterAll, beforeAll, describe, expect, test as plain } from 'vitest'
import { LANGUAGES } from '../../src/endpoints/pages/language.ts'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { startService, type TestService } from '../support/service.ts'
import { flawsOf } from './probe.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

plain.each([
  ['a program', {}, 'application/problem+json'],
  ['a program that accepts anything', { headers: { accept: '*/*' } }, 'application/problem+json'],
  ['a program that prefers JSON', { headers: { accept: 'application/json, text/html' } }, 'application/json'],
  ['a form', { method: 'POST', headers: HTML, body: 'a=b' }, 'application/problem+json'],
  ['a browser', { headers: HTML }, 'text/html; charset=utf-8'],
])('%s gets 404 and its form of the answer', async (_, init, type) => {
  for (const place of ['/nothing', '/acount', '/oauth', '/admin/ui/']) {
    const answer = await fetch(service.issuer + place, init)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, type])
    expect(answer.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
  }
})

plain('the path is not in the page, and the refusal is counted', async () => {
  const answer = await fetch(`${service.issuer}/%3Cb%3Eevil`, { headers: HTML })
  expect(await answer.text()).not.toMatch(/evil/)
})

describe(`in ${CHROMIUM}`, () => {
  test.for(LANGUAGES.map((messages) => [messages.language, messages] as const))(
    'the page is in the language %s and leads on',
    async ([locale, messages], { open }) => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page } = await open({ locale, colorScheme, viewport: { width: 390, height: 844 } })
        await page.goto(`${service.issuer}/acount`)
        expect(await page.getByRole('alert').textContent()).toBe(messages.errors.texts.not_found)
        await addAxe(page)
        expect([...(await flawsOf(page)), ...(await findingsOf(page))]).toEqual([])
        await page.getByRole('link', { name: messages.account.title }).click()
        await page.locator('#email').waitFor()
      }
    },
  )
})
