// oidc-client-ts in Chromium: an application without a server of its own, which signs people in and refreshes from a web page.
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { npmPackage } from '../interop/toolchain.ts'
import { findChromium } from '../support/find_chromium.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct } from './product.ts'

const VERSION = '3.5.0'
const executablePath = findChromium()
const toolchain = executablePath
  ? await npmPackage('oidc-client-ts', VERSION, 'oidc-client-ts/dist/browser/oidc-client-ts.min.js')
  : { missing: 'Chromium' }

describeProduct(
  {
    name: 'oidc-client-ts',
    version: VERSION,
    from: 'npm, in Chromium',
    set: [
      '`server.allowed_origins`: the origin of the application',
      'with DPoP no `loadUserInfo`: the library sends the token there as a bearer token',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    let browser: Browser
    let server: Server
    let origin: string
    beforeAll(async () => {
      const port = await freePort()
      origin = `http://localhost:${port}`
      service = await startService({ SERVICE_OAUTH_OPENID: 'true', SERVICE_SERVER_ALLOWED_ORIGINS: origin })
      const library = readFileSync(commandOf(toolchain)[0] ?? '')
      server = createServer(({ url }, response) =>
        url === '/oidc.js'
          ? response.writeHead(200, { 'content-type': 'text/javascript' }).end(library)
          : response
              .writeHead(200, { 'content-type': 'text/html' })
              .end('<!doctype html><title>App</title><script src="/oidc.js"></script>'),
      ).listen(port, 'localhost')
      browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
    })
    afterAll(async () => {
      server.close()
      await browser.close()
      await service.close()
    })

    /** Signs a new user in, as the documentation of the library shows. Returns the user that the library has. */
    const signIn = async (more = '') => {
      const page = await (await browser.newContext()).newPage()
      const user = await addUser(service)
      const { client_id } = await addClient(service, {
        token_endpoint_auth_method: 'none',
        redirect_uris: [`${origin}/callback`],
        post_logout_redirect_uris: [`${origin}/`],
        scope: 'openid profile email',
      })
      const settings = {
        authority: service.issuer,
        client_id,
        redirect_uri: `${origin}/callback`,
        post_logout_redirect_uri: `${origin}/`,
        scope: 'openid profile email',
        loadUserInfo: true,
      }
      const manager = `(window.manager ??= new oidc.UserManager({ ...${JSON.stringify(settings)}, ${more} }))`
      await page.goto(origin)
      await page.evaluate(`void ${manager}.signinRedirect()`)
      await page.fill('input[name=email]', user.email)
      await page.fill('input[name=password]', PASSWORD)
      await page.press('input[name=password]', 'Enter')
      await page.click('[name=action][value=allow]')
      await page.waitForURL(`${origin}/callback**`)
      return { page, user, manager, signedIn: await told(page, `${manager}.signinRedirectCallback()`) }
    }
    const told = (page: Page, promise: string) =>
      page.evaluate<{ token_type: string; profile: Record<string, string>; access_token: string }>(
        `${promise}.then(({ token_type, profile, access_token }) => ({ token_type, profile, access_token }))`,
      )

    works('sign-in and userinfo', async () => {
      const { user, signedIn } = await signIn()
      expect(signedIn.profile).toMatchObject({ sub: user.id, name: user.name, email: user.email })
    })

    works('refresh without a page', async () => {
      const { page, user, manager, signedIn } = await signIn()
      const next = await told(page, `${manager}.signinSilent()`)
      expect(next.profile['sub']).toBe(user.id)
      expect(next.access_token).not.toBe(signedIn.access_token)
    })

    works('tokens that are bound to a key of the browser (DPoP), also in a refresh', async () => {
      const more = 'loadUserInfo: false, dpop: { bind_authorization_code: true, store: new oidc.IndexedDbDPoPStore() }'
      const { page, manager, signedIn } = await signIn(more)
      expect(signedIn.token_type).toBe('DPoP')
      expect((await told(page, `${manager}.signinSilent()`)).token_type).toBe('DPoP')
    })

    works('logout, which returns to the application', async () => {
      const { page, manager } = await signIn()
      await page.evaluate(`void ${manager}.signoutRedirect()`)
      await page.waitForURL(`${origin}/**`)
    })
  },
)
