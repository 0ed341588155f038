// Second factors as a person uses them: an authenticator app of its own, and the pages.
import { createHmac } from 'node:crypto'
import { newId } from '../../src/lib/id.ts'
import { browserOf } from './account.ts'
import { Browser, type Form, fieldsOf, formsOf, type Page } from './browser.ts'
import { addUser, PASSWORD, type TestService } from './service.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
/** The code of an app (RFC 6238), calculated apart from the library of the service. `at` is in epoch seconds. */
export function codeAt(secret: string, at: number): string {
  const bits = [...secret].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30)))
  const mac = createHmac('sha1', key).update(counter).digest()
  return String((mac.readUInt32BE((mac[19] as number) & 15) & 0x7fffffff) % 1e6).padStart(6, '0')
}

export interface TestApp {
  secret: string
  codes: string[]
}

/** Stores an app for a user, as the page does. */
export async function addFactor({ app }: TestService, user_id: string): Promise<void> {
  const now = app.clock.now()
  const factor = {
    id: newId(),
    user_id,
    kind: 'totp' as const,
    name: '',
    created_at: now,
    secret_clear: 'A',
    last_step: 0,
  }
  await app.store.addFactor({ factor, codes: [], session: { id: newId() } })
}

/** A user with a password, who is signed in in a browser. */
export async function personAt(service: TestService, fields: Parameters<typeof addUser>[1] = {}) {
  const { id, email } = await addUser(service, fields)
  return { id, email, browser: await browserOf(service, email) }
}

/** The page for second factors, with a place that it leads on to. */
export const factorPage = (service: TestService, browser: Browser, redirect = '/account'): Promise<Page> =>
  browser.open(`${service.issuer}/second-factor?${new URLSearchParams({ redirect })}`)

/** The form of a page that does something. */
export function formThat(page: Page, action: string): Form {
  const form = formsOf(page).find(({ fields }) => fields.some(([name, value]) => name === 'action' && value === action))
  if (!form) throw new Error(`no form that does ${action}: ${page.status} ${page.text.slice(0, 400)}`)
  return form
}

/** Sends the form of the account page that does something. */
export async function pressFactor(
  service: TestService,
  browser: Browser,
  action: string,
  page?: Page,
  values: Record<string, string> = {},
): Promise<Page> {
  const from = page ?? (await browser.open(`${service.issuer}/account`))
  const form = formThat(from, action)
  return browser.post(`${service.issuer}${form.action}`, { ...Object.fromEntries(form.fields), ...values })
}

export const secretOn = ({ text }: Pick<Page, 'text'>): string => /\bsecret=([A-Z2-7]+)/.exec(text)?.[1] ?? ''
export const codesOn = ({ text }: Page): string[] =>
  [...text.matchAll(/<li><code>([a-z0-9-]+)<\/code>/g)].map(([, code = '']) => code)

/** Adds an app and confirms it, from a page or from the account page. Returns it with the page of its recovery codes. */
export async function addApp(service: TestService, browser: Browser, from?: Page): Promise<TestApp & { page: Page }> {
  const asked = await pressFactor(service, browser, 'add_app', from)
  const secret = secretOn(asked)
  const code = codeAt(secret, service.app.clock.now())
  const page = await pressFactor(service, browser, 'confirm_app', asked, { code })
  // The next sign-in needs a later code.
  service.advance(30)
  return { secret, codes: codesOn(page), page }
}

/** A user with an app, signed in in the browser that added it. */
export async function withApp(service: TestService, fields: Parameters<typeof addUser>[1] = {}) {
  const person = await personAt(service, fields)
  return { ...person, app: await addApp(service, person.browser) }
}

/** The code of an app now. The clock is advanced, so that each code is a new one. */
export function nextCode(service: TestService, { secret }: TestApp): string {
  service.advance(30)
  return codeAt(secret, service.app.clock.now())
}

/** The answers to a sign-in: to the email and password, and to the code. */
export async function tryWith(service: TestService, email: string, code?: string, password = PASSWORD) {
  const browser = new Browser()
  const first = await browser.open(`${service.issuer}/login`)
  const form = Object.fromEntries(fieldsOf(first))
  let page = await browser.post(`${service.issuer}/login`, { ...form, email, password })
  if (code !== undefined && page.status === 422)
    page = await browser.post(`${service.issuer}/login`, {
      ...Object.fromEntries(fieldsOf(page)),
      email,
      password: '',
      code,
    })
  return { browser, page }
}

/** The browser of a user who has signed in with a code. Undefined when the code was refused. */
export async function signInWith(service: TestService, email: string, code?: string): Promise<Browser | undefined> {
  const { browser, page } = await tryWith(service, email, code)
  return page.status === 303 || page.status === 302 ? browser : undefined
}
