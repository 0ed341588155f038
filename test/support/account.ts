// The account page as a user works with it.
import { Browser, type Form, formsOf, type Page } from './browser.ts'
import { authorize, redeem, signIn } from './flow.ts'
import { addClient, addResource, addUser, type TestService } from './service.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0'
export const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1'

/** A browser in which a user is signed in. */
export async function browserOf(service: TestService, email: string, userAgent = FIREFOX): Promise<Browser> {
  const browser = new Browser({ 'user-agent': userAgent })
  await signIn(service, browser, await browser.open(`${service.issuer}/login`), email)
  return browser
}

/** A user who is signed in in a browser and allowed an application with these names each. */
export async function userWith(service: TestService, ...names: string[]) {
  const user = await addUser(service)
  const browser = await browserOf(service, user.email)
  const applications = []
  for (const client_name of names) applications.push(await allow(service, user, browser, client_name))
  return { user, browser, applications }
}

/** Lets a new client have access to a new resource in the name of a user. */
export async function allow(
  service: TestService,
  user: { email: string },
  browser: Browser,
  client_name: string,
  fields: Parameters<typeof addResource>[1] = {},
) {
  const resource = await addResource(service, fields)
  const scope = fields.scopes?.join(' ') ?? 'mcp:read'
  const client = await addClient(service, { client_name, scope })
  const authorized = await authorize(service, client, user, { resource: resource.uri, scope }, browser)
  const { body } = await redeem(service, client, authorized)
  return {
    client,
    resource,
    access_token: String(body['access_token']),
    refresh_token: String(body['refresh_token']),
  }
}

export const accountPage = (service: TestService, browser: Browser): Promise<Page> =>
  browser.open(`${service.issuer}/account`)

/** The first form of the account page whose text or path contains a text. */
export async function accountForm(service: TestService, browser: Browser, text: string): Promise<Form> {
  const forms = formsOf(await accountPage(service, browser))
  const form = forms.find(({ html }) => html.includes(text))
  if (!form) throw new Error(`no form with ${text}`)
  return form
}

/** Presses the button of the first form whose text contains a text, after its fields were filled in. */
export async function press(
  service: TestService,
  browser: Browser,
  text: string,
  values: Record<string, string> = {},
): Promise<Page> {
  const { action, fields, html } = await accountForm(service, browser, text)
  const [, name, value = ''] = /<button\b[^>]*\sname="([^"]*)"(?:\svalue="([^"]*)")?/.exec(html) ?? []
  const pressed = name === undefined ? {} : { [name]: value }
  return browser.post(`${service.issuer}${action}`, { ...Object.fromEntries(fields), ...pressed, ...values })
}

/** Whether a browser has a session. */
export const isSignedIn = async (service: TestService, browser: Browser): Promise<boolean> =>
  (await accountPage(service, browser)).status === 200
