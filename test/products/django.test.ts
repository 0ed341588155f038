// mozilla-django-oidc signs people in to a Django application.
import path from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { python } from '../interop/toolchain.ts'
import { Browser } from '../support/browser.ts'
import { walk } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct, startProgram } from './product.ts'

const here = path.join(import.meta.dirname, 'django')
const toolchain = await python(path.join(here, 'requirements.txt'))

describeProduct(
  {
    name: 'mozilla-django-oidc',
    version: '5.0.2',
    from: 'PyPI',
    set: [
      '`OIDC_USE_PKCE = True`',
      '`OIDC_PKCE_CODE_CHALLENGE_METHOD = "S256"`',
      '`OIDC_RP_SIGN_ALGO = "RS256"`',
      '`OIDC_OP_JWKS_ENDPOINT`',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    let origin: string
    beforeAll(async () => {
      service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
      const port = await freePort()
      origin = `http://localhost:${port}`
      const { client_id, client_secret } = await addClient(service, {
        redirect_uris: [`${origin}/oidc/callback/`],
        scope: 'openid email profile',
      })
      const env = {
        ISSUER: service.issuer,
        CLIENT_ID: client_id,
        CLIENT_SECRET: client_secret,
        DATABASE: path.join(tempFolder(), 'app.db'),
      }
      await startProgram([...commandOf(toolchain), path.join(here, 'app.py'), `${port}`], `${origin}/me`, env)
    })
    afterAll(() => service.close())

    const signIn = async () => {
      const [user, browser] = [await addUser(service), new Browser()]
      const { location = '' } = await browser.open(`${origin}/oidc/authenticate/`)
      const { location: after } = await browser.open((await walk(service, location, user, browser)).href)
      expect(after).toBe(`${origin}/me`)
      return { user, browser }
    }
    const shown = async (browser: Browser, page: string) => JSON.parse((await browser.open(origin + page)).text)

    works('sign-in; the email comes from userinfo', async () => {
      const { user, browser } = await signIn()
      expect(await shown(browser, '/me')).toEqual({ email: user.email })
    })

    works('renewal of the sign-in with `prompt=none`', async () => {
      const { browser } = await signIn()
      const { location = '' } = await browser.open(`${origin}/renewed`)
      expect(new URL(location).searchParams.get('prompt')).toBe('none')
      const { location: callback = '' } = await browser.open(location)
      expect((await browser.open(callback)).location).toBe(`${origin}/renewed`)
    })
  },
)
