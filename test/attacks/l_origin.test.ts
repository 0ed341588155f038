// Row L26 of the attack list: forms with the Origin of another site, from browsers that do not send Sec-Fetch-Site.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { Browser, fieldsOf, type Page } from '../support/browser.ts'
import { DEVICES } from '../support/device.ts'
import { signedIn } from '../support/documents.ts'
import { authorizeUrl } from '../support/flow.ts'
import { addClient, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ ...DEVICES, SERVICE_OAUTH_OPENID: 'true' })
})
afterAll(() => service.close())

interface Form {
  browser: Browser
  path: string
  fields: [string, string][]
}
const filled = (page: Page, values: Record<string, string>): [string, string][] => [
  ...fieldsOf(page).filter(([name]) => !(name in values)),
  ...Object.entries(values),
]

/** Each form, ready to be sent, with the status of its success. */
const FORMS: Record<string, { begin: () => Promise<Form>; refused: number; done: number }> = {
  login: {
    refused: 422,
    done: 303,
    async begin() {
      const [user, browser] = [await addUser(service), new Browser()]
      const page = await browser.open(`${service.issuer}/login`)
      return { browser, path: '/login', fields: filled(page, { email: user.email, password: PASSWORD }) }
    },
  },
  logout: {
    refused: 403,
    done: 303,
    begin: async () => ({ browser: await signedIn(service, await addUser(service)), path: '/logout', fields: [] }),
  },
  consent: {
    refused: 403,
    done: 303,
    async begin() {
      const [client, browser] = [await addClient(service), await signedIn(service, await addUser(service))]
      const page = await browser.follow(authorizeUrl(service, { client_id: client.client_id }))
      return { browser, path: '/consent', fields: filled(page, { action: 'allow' }) }
    },
  },
  account: {
    refused: 403,
    done: 303,
    async begin() {
      const browser = await signedIn(service, await addUser(service))
      const page = await browser.open(`${service.issuer}/account`)
      const [form = ''] = /<form[^>]*\/account\/sign-ins[\s\S]*?<\/form>/.exec(page.text) ?? []
      return { browser, path: '/account/sign-ins', fields: fieldsOf({ ...page, text: form }) }
    },
  },
  'user code': {
    refused: 403,
    done: 422,
    async begin() {
      const browser = await signedIn(service, await addUser(service))
      const page = await browser.open(`${service.issuer}/device`)
      return { browser, path: '/device', fields: filled(page, { user_code: 'BCDF-GHJK' }) }
    },
  },
  'password link': {
    refused: 403,
    done: 200,
    async begin() {
      const user = await addUser(service)
      const { url } = await okAdmin<{ url: string }>(service, 'POST', `/admin/users/${user.id}/password-link`)
      const browser = new Browser()
      const next = { new_password: 'a passphrase of her own', new_password_again: 'a passphrase of her own' }
      return { browser, path: '/password', fields: filled(await browser.open(url), next) }
    },
  },
}

for (const [name, { begin, refused, done }] of Object.entries(FORMS))
  test(`L26 a form of another origin changes nothing, also without Sec-Fetch-Site: ${name}`, async () => {
    const { browser, path, fields } = await begin()
    const send = (origin: string) => browser.post(service.issuer + path, fields, { origin })
    const { port } = new URL(service.issuer)
    const foreign = [
      'https://evil.example',
      `https://localhost:${port}`,
      'http://localhost:1',
      `${service.issuer}.evil`,
    ]
    for (const origin of foreign) expect((await send(origin)).status).toBe(refused)
    expect((await send(service.issuer)).status).toBe(done)
  })

test('L26 the form of a browser that sends Origin: null, as pages without a referrer do, is accepted', async () => {
  const { begin, done } = FORMS['login'] as (typeof FORMS)[string]
  const { browser, path, fields } = await begin()
  expect((await browser.post(service.issuer + path, fields, { origin: 'null' })).status).toBe(done)
})
