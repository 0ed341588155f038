// The name, logo, color and links of the operator on the pages for users, and what keeps them from being HTML.
// SERVICE_TEST_SHOTS names a folder for screenshots.
import { createHash, randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect } from 'vitest'
import { ConfigError, loadConfig } from '../../src/config/load.ts'
import { openBranding, readPageFiles } from '../../src/endpoints/pages/branding.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { runHere } from '../support/cli.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { authorizeUrl, signIn } from '../support/flow.ts'
import { tempFile, tempFolder } from '../support/folder.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'
import { failureOf } from '../support/thrown.ts'
import { flawsOf } from './probe.ts'

const SHOTS = process.env['SERVICE_TEST_SHOTS']
const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 40"><rect width="120" height="40" rx="8" fill="#00695c"/></svg>'
/** The start of a PNG file, by which it is recognised. */
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const LINKS = {
  SERVICE_UI_SUPPORT_URL: 'mailto:help@example.com',
  SERVICE_UI_TERMS_URL: 'https://example.com/terms',
  SERVICE_UI_PRIVACY_URL: 'https://example.com/privacy',
}

/** A service that is closed at the end of this file. */
async function branded(env: Record<string, string>): Promise<TestService> {
  const service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0', ...env })
  atEndOfFile(() => service.close())
  return service
}

const load = async (env: Record<string, string>) => {
  const { config } = loadConfig(undefined, env)
  return openBranding(config, readPageFiles(config))
}
const styleIn = (text: string) => /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? ''

test('without a configuration a page has no image, no links and no name beside the host', async () => {
  const service = await branded({})
  const { text, headers } = await new Browser().open(`${service.issuer}/login`)
  expect(text).toContain('<title>Sign in</title>')
  expect(text).toContain(new URL(service.issuer).host)
  expect(text).not.toMatch(/<img|<footer/)
  expect(headers.get('content-security-policy')).not.toContain('img-src')
})

describe('with a name, a logo, a color and links', () => {
  const whole = () =>
    branded({
      ...LINKS,
      SERVICE_UI_PRODUCT_NAME: 'Acme',
      SERVICE_UI_ACCENT_COLOR: '#00695c',
      SERVICE_UI_LOGO_FILE: tempFile('logo.svg', SVG),
    })

  test('each page shows them, in the language of the user', async () => {
    const service = await whole()
    const { text } = await new Browser().open(`${service.issuer}/login`, { headers: { 'accept-language': 'de' } })
    expect(text).toContain('<title>Anmelden · Acme</title>')
    expect(text).toContain('Melden Sie sich an, um zu <bdi>Acme</bdi> zu gelangen.')
    expect(text).toMatch(/<img class="logo" src="\/ui\/logo\?v=[0-9a-f]{16}" alt="Acme">/)
    expect(text).toContain('--accent:#00695c')
    expect(text).toContain('<a href="mailto:help@example.com">Hilfe und Kontakt</a>')
    expect(text).toContain('<a href="https://example.com/privacy">Datenschutzerklärung</a>')
  })

  test.for(['/login', '/nothing'])(
    'the policy of %s allows the style sheet by its hash, the logo by its URL, the script by its URL beside a field for a password, and nothing else',
    async (place) => {
      const service = await whole()
      const { text, headers } = await new Browser().follow(`${service.issuer}${place}`)
      const hashOf = (part: string) => `'sha256-${createHash('sha256').update(part).digest('base64')}'`
      const isLogin = text.includes('type="password"')
      const script = isLogin ? ` script-src ${service.issuer}${/<script src="([^"]+)"/.exec(text)?.[1]};` : ''
      expect(text.split('<script').length - 1).toBe(isLogin ? 1 : 0)
      expect(headers.get('content-security-policy')).toBe(
        `default-src 'none'; style-src ${hashOf(styleIn(text))};${script} img-src ${service.issuer}/ui/logo; base-uri 'none'; frame-ancestors 'none'`,
      )
    },
  )

  test('the logo has the type of its content, whatever the name of its file', async () => {
    for (const [name, content, type] of [
      ['logo.html', SVG, 'image/svg+xml'],
      ['logo', `<?xml version="1.0"?>\n<!-- drawn by hand -->\n${SVG}`, 'image/svg+xml'],
      ['logo.svg', PNG.toString('latin1'), 'image/png'],
    ] as const) {
      const file = tempFile(name, '')
      writeFileSync(file, content, 'latin1')
      const service = await branded({ SERVICE_UI_LOGO_FILE: file })
      const { status, headers } = await new Browser().open(`${service.issuer}/ui/logo`)
      expect([status, headers.get('content-type')]).toEqual([200, type])
    }
  })
})

describe('a logo that is refused at the start', () => {
  test.each([
    ['a file that does not exist', undefined, /^cannot be read: ENOENT/],
    ['a file that is too large', `${SVG}${' '.repeat(256 * 1024)}`, /^must have at most 256 KiB/],
    ['a page', '<!doctype html><svg></svg>', /^must be a PNG or SVG file/],
    ['a page that follows a comment', '<!-- <svg> --><html><svg></svg></html>', /^must be a PNG or SVG file/],
    ['a document type with entities', `<!DOCTYPE svg [<!ENTITY a "b">]>${SVG}`, /^must be a PNG or SVG file/],
    ['an empty file', '', /^must be a PNG or SVG file/],
    ['another image', 'GIF89a', /^must be a PNG or SVG file/],
  ])('%s', async (_, content, message) => {
    const file = content === undefined ? '/does/not/exist.svg' : tempFile('logo.svg', content)
    const error = await failureOf(load({ SERVICE_UI_LOGO_FILE: file }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error instanceof ConfigError && error.problems).toEqual([
      { key: 'ui.logo_file', message: expect.stringMatching(message) },
    ])
  })
})

describe('a logo file that is missing', () => {
  test('stops no command that only needs the configuration, and is a finding of doctor', async () => {
    const file = tempFile('logo.svg', SVG)
    const env = {
      SERVICE_UI_LOGO_FILE: file,
      SERVICE_STORAGE_SQLITE_PATH: tempFile('service.db', ''),
      SERVICE_SIGNING_KEY_PATH: tempFolder(),
    }
    const doctor = async () => {
      const { stdout } = await runHere(['doctor', '--json'], env)
      return (JSON.parse(stdout) as { check: string; result: string }[]).filter(({ check }) => check === 'logo')
    }
    expect(await doctor()).toMatchObject([{ result: 'ok' }])
    rmSync(file)
    expect(await doctor()).toMatchObject([{ result: 'fail', message: expect.stringContaining('ENOENT') }])
    for (const command of [['migrate'], ['purge'], ['admin', 'user', 'list']])
      expect(await runHere(command, env), command.join(' ')).toMatchObject({ code: 0 })
    const { code, stderr } = await runHere(['serve'], env)
    expect([code, stderr]).toEqual([1, expect.stringContaining('ui.logo_file')])
  })
})

const withoutOwnScript = (text: string) => text.replace(/<script src="\/ui\/script\/\w+\.js"><\/script>/, '')
const MARKUP = `"><script>alert(1)</script><img src=x onerror=alert(1)>'`

test('L23 markup in the name of the product, and in the issuer that the policy contains, stays text', async () => {
  const service = await branded({ SERVICE_UI_PRODUCT_NAME: MARKUP, SERVICE_UI_LOGO_FILE: tempFile('logo.svg', SVG) })
  for (const place of ['/login', '/oauth/authorize', '/consent?session_id=x']) {
    const { text } = await new Browser().open(service.issuer + place)
    expect(withoutOwnScript(text)).not.toMatch(/<script|<img src=x/)
  }
  const { policy } = await load({
    SERVICE_SERVER_ISSUER: 'http://localhost:9000/a;script-src%20*,b',
    SERVICE_UI_LOGO_FILE: tempFile('logo.svg', SVG),
  })
  expect(policy).toContain('img-src http://localhost:9000/a%3Bscript-src%20*%2Cb/ui/logo; ')
})

test('L23 markup in the name of a client, a resource, a scope and a user stays text in every language', async () => {
  const service = await branded({})
  const named = { display_name: MARKUP, scopes: [{ name: 'mcp:read', description: MARKUP }] }
  const resource = await okAdmin<{ uri: string }>(service, 'POST', '/admin/resources', {
    slug: 'markup',
    uri: 'https://markup.example.com/mcp',
    backend_kind: 'mint',
    ...named,
  })
  const { client_id } = await addClient(service, { client_name: MARKUP }, { registration_source: 'dcr' })
  const user = await addUser(service, { name: MARKUP, email: `"'<b>${randomUUID()}@example.com` })
  for (const ui_locales of ['en', 'de', 'es']) {
    const browser = new Browser()
    const login = await browser.follow(authorizeUrl(service, { client_id, resource: resource.uri, ui_locales }))
    const { location = '' } = await signIn(service, browser, login, user.email)
    const { text } = await browser.follow(location)
    expect(text).toContain(`<html lang="${ui_locales}">`)
    expect(text).toContain('value="allow"')
    for (const page of [login.text, text]) expect(withoutOwnScript(page)).not.toMatch(/<script|<img|<b>/)
  }
})

describe(`in ${CHROMIUM}`, () => {
  test('L24 a logo with scripts runs none: not in a page, and not opened alone', async ({ open }) => {
    const script = `<script>document.documentElement.setAttribute('data-ran', '1')</script>`
    const hostile = SVG.replace(
      '<rect',
      `<rect onload="this.ownerDocument.documentElement.setAttribute('data-ran','1')"`,
    )
    const file = tempFile('logo.svg', hostile.replace('</svg>', `${script}</svg>`))
    const service = await branded({ SERVICE_UI_LOGO_FILE: file })
    const { page } = await open()
    await page.goto(`${service.issuer}/login`)
    expect(await page.locator('[data-ran]').count()).toBe(0)
    const alone = await page.goto(`${service.issuer}/ui/logo`)
    expect(alone?.headers()['content-security-policy']).toMatch(/^default-src 'none'; .*; sandbox$/)
    expect(await page.locator('svg').count()).toBe(1)
    expect(await page.locator('[data-ran]').count()).toBe(0)
  })

  test('the logo is shown, and nothing is faint, cut off or too small in any language', async ({ open }) => {
    const service = await branded({
      ...LINKS,
      SERVICE_UI_PRODUCT_NAME: 'The Identity Service of Acme Industries',
      SERVICE_UI_ACCENT_COLOR: '#8a4b00',
      SERVICE_UI_LOGO_FILE: tempFile('logo.svg', SVG),
    })
    for (const locale of ['en', 'de', 'es']) {
      const { page, complaints } = await open({ locale })
      await page.goto(`${service.issuer}/login`)
      expect(await page.locator('html').getAttribute('lang')).toBe(locale)
      expect(await page.locator('img.logo').evaluate((image) => image.naturalWidth)).toBeGreaterThan(0)
      for (const colorScheme of ['light', 'dark'] as const)
        for (const width of [1280, 320]) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: 640 })
          const name = `branding ${locale} ${width} ${colorScheme}`
          if (SHOTS)
            await page.screenshot({ path: path.join(SHOTS, `${name.replaceAll(' ', '-')}.png`), fullPage: true })
          expect(await flawsOf(page), name).toEqual([])
        }
      expect(complaints).toEqual([])
    }
  })
})
