// What the sign-in page says and offers: who asks, the password in clear, other languages, help with a password, how long to wait.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { LANGUAGES } from '../../src/endpoints/pages/language.ts'
import { Browser } from '../support/browser.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { authorizeUrl, signIn } from '../support/flow.ts'
import { addClient, addUser, PASSWORD, startService } from '../support/service.ts'
import { logIn, openWorld, setUp, type World } from './scenes.ts'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const textOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ')
    .trim()
const leadOf = (html: string) => textOf(/<p class="soft">([\s\S]*?)<\/p>/.exec(html)?.[1] ?? '')
const openedIn = (language: string, url: string) => new Browser({ 'accept-language': language }).follow(url)

describe('the application that asks', () => {
  test.each([
    ['en', 'asks you to sign in to'],
    ['de', 'bittet Sie, sich bei'],
    ['es', 'le pide que inicie sesión en'],
  ])('is named in %s', async (language, words) => {
    const { url } = await setUp(world)
    expect(leadOf((await openedIn(language, url)).text)).toMatch(new RegExp(`^Inbox Assistant ${words} localhost`))
  })

  test('has its host beside the name that it chose itself', async () => {
    const redirect_uris = ['https://inbox.example.com/callback', 'https://other.example.com/callback']
    const { url } = await setUp(world, { client: { redirect_uris }, record: { registration_source: 'dcr' } })
    expect(leadOf((await new Browser().follow(url)).text)).toMatch(/^Inbox Assistant \(inbox\.example\.com\) asks/)
    const forged = `${world.service.issuer}/login?${new URLSearchParams({
      redirect: url.slice(world.service.issuer.length).replace('inbox.example.com', 'bank.example.com'),
    })}`
    expect(leadOf((await new Browser().follow(forged)).text)).toMatch(/^Inbox Assistant \(inbox\.example\.com\) asks/)
  })

  test('is text, whatever its name is', async () => {
    const { url } = await setUp(world, { client: { client_name: '<b>Acme</b>\u202e' } })
    const { text } = await new Browser().follow(url)
    expect(text).toContain('<strong><bdi>&lt;b&gt;Acme&lt;/b&gt;</bdi></strong>')
  })

  test('is the host of a client document that is not stored, and nothing is fetched for it', async () => {
    const client_id = 'https://unknown.example.com/client.json'
    const place = authorizeUrl(world.service, { client_id }).slice(world.service.issuer.length)
    const url = `${world.service.issuer}/login?${new URLSearchParams({ redirect: place })}`
    expect(leadOf((await new Browser().follow(url)).text)).toMatch(/^unknown\.example\.com asks you/)
  })

  test.each([
    ['no application asks', '/account'],
    ['the client is not known', '/oauth/authorize?client_id=nobody'],
    ['the target is not an authorization request', '/device?client_id=nobody'],
  ])('is left out when %s', async (_, redirect) => {
    const url = `${world.service.issuer}/login?${new URLSearchParams({ redirect })}`
    expect(leadOf((await new Browser().follow(url)).text)).toMatch(/^to continue to localhost/)
  })

  test('is left out when it is suspended', async () => {
    const { client_id } = await addClient(world.service, {}, { status: 'suspended' })
    const url = `${world.service.issuer}/login?redirect=${encodeURIComponent(`/oauth/authorize?client_id=${client_id}`)}`
    expect(leadOf((await new Browser().follow(url)).text)).toMatch(/^to continue to localhost/)
  })
})

describe(`in ${CHROMIUM}`, () => {
  test.for(LANGUAGES.map((messages) => [messages.language, messages] as const))(
    'a button shows the password and hides it again, in %s',
    async ([language, messages], { open }) => {
      const { page, complaints } = await open({ locale: language })
      const { url, user } = await setUp(world)
      await page.goto(url)
      await page.locator('#email').fill(user.email)
      const field = page.locator('#password')
      await field.fill(PASSWORD)
      await page.getByRole('button', { name: messages.reveal.show }).click()
      expect(await field.getAttribute('type')).toBe('text')
      expect(await field.inputValue()).toBe(PASSWORD)
      await page.getByRole('button', { name: messages.reveal.hide }).click()
      expect(await field.getAttribute('type')).toBe('password')
      await page.getByRole('button', { name: messages.reveal.show }).click()
      await page.evaluate(
        `document.forms[0].addEventListener('submit', (event) => {
          event.preventDefault()
          document.body.dataset.sentAs = document.querySelector('#password').type
        }, { once: true })`,
      )
      await page.locator('button.main').click()
      expect(await page.locator('body').getAttribute('data-sent-as')).toBe('password')
      await logIn(page, user.email)
      await page.locator('button[value=allow]').waitFor()
      expect(complaints).toEqual([])
    },
  )

  test('without script the page has no such button, and the sign-in works', async ({ open }) => {
    const { page } = await open({ javaScriptEnabled: false })
    const { url, user } = await setUp(world)
    await page.goto(url)
    expect(await page.getByRole('button', { name: 'Show password' }).count()).toBe(0)
    await page.getByText('Forgot your password?').click()
    await page.getByText('Ask an administrator for a link').waitFor()
    await page.getByRole('button', { name: 'Deutsch' }).click()
    await logIn(page, user.email)
    await page.getByRole('button', { name: 'Zulassen' }).waitFor()
  })

  test('a language that is chosen on the sign-in page stays for the pages after it, and on the consent page', async ({
    open,
  }) => {
    const { page, complaints } = await open()
    const { url, user } = await setUp(world)
    await page.goto(url)
    await logIn(page, user.email, 'wrong')
    await page.getByRole('button', { name: 'Español' }).click()
    expect(await page.locator('h1').textContent()).toBe('Iniciar sesión')
    expect(await page.locator('p.soft').first().textContent()).toMatch(/^Inbox Assistant/)
    await logIn(page, user.email)
    await page.getByRole('button', { name: 'Permitir' }).waitFor()
    await page.getByRole('button', { name: 'Deutsch' }).click()
    await page.getByRole('button', { name: 'Zulassen' }).click()
    await page.waitForURL(`${world.application}?**`)
    expect(new URL(page.url()).searchParams.get('code')).toMatch(/^ac_/)
    expect(complaints).toEqual([])
  })
})

describe('POST /language', () => {
  const post = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${world.service.issuer}/language`, {
      method: 'POST',
      headers,
      redirect: 'manual',
      body: new URLSearchParams(fields),
    })

  test('keeps the language, and returns only to a page of this service', async () => {
    const kept = await post({ language: 'de', redirect: '/login?redirect=%2Faccount' })
    expect([kept.status, kept.headers.get('location')]).toEqual([303, '/login?redirect=%2Faccount'])
    expect(kept.headers.get('set-cookie')).toMatch(/^service_language=de;/)
    const forged = await post({ language: 'xx', redirect: '//evil.example/' })
    expect([forged.headers.get('location'), forged.headers.get('set-cookie')]).toEqual(['/account', null])
  })

  test('is refused from another website', async () => {
    const answer = await post({ language: 'de' }, { 'sec-fetch-site': 'cross-site' })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null])
  })
})

describe('help with a password', () => {
  test.each([
    ['', /<details[^>]*><summary>Forgot your password\?<\/summary><p class="soft">Ask an administrator/],
    [
      'Call 4711 & ask <b>Ada</b>.',
      /<summary>Forgot your password\?<\/summary><p class="soft">Call 4711 &amp; ask &lt;b&gt;/,
    ],
    ['https://id.example.com/reset?a=1&b=2', /<a href="https:\/\/id\.example\.com\/reset\?a=1&amp;b=2">Forgot/],
    ['mailto:help@example.com', /<a href="mailto:help@example\.com">Forgot/],
  ])('%j is shown', async (help, shown) => {
    const service = await startService({ SERVICE_UI_PASSWORD_HELP: help })
    try {
      expect((await new Browser().open(`${service.issuer}/login`)).text).toMatch(shown)
    } finally {
      await service.close()
    }
  })
})

test('after too many failed attempts the page says for how long to wait, in every language', async () => {
  const service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '1', SERVICE_RATE_LIMIT_AUTH_LOCKOUT: '15m' })
  try {
    const { email } = await addUser(service)
    const attempt = async (language: string) => {
      const browser = new Browser({ 'accept-language': language })
      const page = await browser.open(`${service.issuer}/login`)
      return signIn(service, browser, page, email, 'wrong')
    }
    await attempt('en')
    const texts = { en: 'Try again in 15 minutes.', de: 'in 15 Minuten erneut.', es: 'en 15 minutos.' }
    for (const [language, text] of Object.entries(texts)) {
      const refused = await attempt(language)
      expect([refused.status, textOf(refused.text)]).toEqual([429, expect.stringContaining(text)])
    }
    service.advance(14 * 60 + 20)
    expect(textOf((await attempt('en')).text)).toMatch(/Try again in \d\d seconds\./)
  } finally {
    await service.close()
  }
})
