// Section X of the attacks: answers of a passkey in software, which says whatever an attacker wants.
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isSignedIn } from '../support/account.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser, type Form, formsOf, type Page } from '../support/browser.ts'
import { factorPage, formThat, personAt } from '../support/factors.ts'
import { Passkey } from '../support/passkey.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '0' })
})
afterAll(() => service.close())

type Stated = Partial<Parameters<Passkey['got']>[0]>
const challengeOf = ({ html }: Pick<Form, 'html'>): string =>
  /data-passkey="[^"]*challenge&quot;:&quot;([\w-]+)/.exec(html)?.[1] ?? ''
const here = (challenge: string, stated: Stated) => ({
  challenge,
  origin: service.issuer,
  rpId: 'localhost',
  ...stated,
})

/** Sends the form that adds a passkey, from a page of that browser. */
async function add(browser: Browser, passkey: Passkey, stated: Stated = {}, from?: Page): Promise<Page> {
  const form = formThat(from ?? (await factorPage(service, browser)), 'add_passkey')
  const answer = passkey.created(here(challengeOf(form), stated))
  return browser.post(`${service.issuer}/second-factor`, { ...Object.fromEntries(form.fields), passkey: answer })
}

async function loginForm(browser: Browser): Promise<Form> {
  const form = formsOf(await browser.open(`${service.issuer}/login`)).find((each) => challengeOf(each) !== '')
  if (!form) throw new Error('the page has no form for passkeys')
  return form
}
const send = (browser: Browser, { fields }: Form, passkey: string): Promise<Page> =>
  browser.post(`${service.issuer}/login`, { ...Object.fromEntries(fields), passkey })

/** A sign-in with a passkey. */
async function enter(passkey: Passkey, stated: Stated = {}, browser = new Browser()): Promise<number> {
  const form = await loginForm(browser)
  const { status } = await send(browser, form, passkey.got(here(challengeOf(form), stated)))
  expect(await isSignedIn(service, browser)).toBe(status === 303)
  return status
}
async function personWithPasskey() {
  const [person, passkey] = [await personAt(service), new Passkey()]
  expect((await add(person.browser, passkey)).status).toBe(200)
  return { ...person, passkey }
}
const numberOf = async (id: string) =>
  (await okAdmin<{ factors: unknown[] }>(service, 'GET', `/admin/users/${id}`)).factors.length

const ELSEWHERE: [string, Stated][] = [
  ['a page of another host', { origin: 'https://service.example.net' }],
  ['another port of the host', { origin: 'http://localhost:1' }],
  ['a host below this one', { origin: 'http://evil.localhost' }],
  ['the id of another relying party', { rpId: 'service.example.net' }],
  ['an authenticator that has not verified its user', { verified: false }],
]

test('X01 a passkey that answers elsewhere does not sign in, and is not added', async () => {
  const { passkey } = await personWithPasskey()
  const { id, browser } = await personAt(service)
  for (const [what, stated] of ELSEWHERE) {
    expect([what, await enter(passkey, stated)]).toEqual([what, 422])
    expect([what, (await add(browser, new Passkey(), stated)).status]).toEqual([what, 422])
  }
  expect([await enter(passkey), await numberOf(id)]).toEqual([303, 0])
})

test('X02 a copy of an authenticator is refused once the counter shows it', async () => {
  const { passkey } = await personWithPasskey()
  expect(await enter(passkey, { counter: 10 })).toBe(303)
  for (const counter of [10, 9, 0]) expect(await enter(passkey, { counter })).toBe(422)
  expect(await enter(passkey, { counter: 11 })).toBe(303)
})

test('X03 an answer counts once, also when it is sent several times at once', async () => {
  const { passkey } = await personWithPasskey()
  const browser = new Browser()
  const form = await loginForm(browser)
  const answers = [1, 2, 3].map(() => passkey.got(here(challengeOf(form), {})))
  const pages = await Promise.all(answers.map((answer) => send(browser, form, answer)))
  expect(pages.map(({ status }) => status).toSorted()).toEqual([303, 422, 422])
  expect((await send(browser, form, answers[0] ?? '')).status).toBe(422)
})

test('X04 a challenge is that of its browser and its purpose, and expires', async () => {
  const { passkey, browser: own } = await personWithPasskey()
  const theirs = challengeOf(await loginForm(new Browser()))
  const forAdding = challengeOf(formThat(await factorPage(service, own), 'add_passkey'))
  for (const challenge of [theirs, forAdding, Buffer.from('1.2.3').toString('base64url'), ''])
    expect(await enter(passkey, { challenge })).toBe(422)
  expect((await send(own, await loginForm(own), passkey.got(here(forAdding, {})))).status).toBe(422)
  const forSignIn = challengeOf(await loginForm(own))
  expect((await add(own, new Passkey(), { challenge: forSignIn })).status).toBe(422)
  const browser = new Browser()
  const form = await loginForm(browser)
  service.advance(900)
  expect((await send(browser, form, passkey.got(here(challengeOf(form), {})))).status).toBe(422)
})

test('X05 another key, a changed answer, and the answer of another ceremony are refused', async () => {
  const { passkey } = await personWithPasskey()
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  for (const stated of [{ key }, { type: 'webauthn.create' }] as const) expect(await enter(passkey, stated)).toBe(422)
  const browser = new Browser()
  const form = await loginForm(browser)
  const answer = JSON.parse(passkey.got(here(challengeOf(form), {}))) as { response: Record<string, string> }
  const more = JSON.parse(passkey.got(here(challengeOf(form), { counter: 99 }))) as typeof answer
  const { authenticatorData, clientDataJSON } = more.response
  for (const changed of [
    { authenticatorData },
    { signature: 'AAAA' },
    { clientDataJSON: Buffer.from(`${Buffer.from(clientDataJSON ?? '', 'base64url')} `).toString('base64url') },
  ]) {
    const response = { ...answer.response, ...changed }
    expect((await send(browser, form, JSON.stringify({ ...answer, response }))).status).toBe(422)
  }
  expect((await send(browser, form, JSON.stringify(answer))).status).toBe(303)
})

test('X06 what is not an answer is refused like a wrong one', async () => {
  const { passkey, browser: own } = await personWithPasskey()
  const id = passkey.id.toString('base64url')
  const deep = '['.repeat(6000) + ']'.repeat(6000)
  const broken = ['x', 'null', '[]', '1', '{}', '{"id":1}', deep, JSON.stringify({ id, response: {} })]
  broken.push(JSON.stringify({ id, rawId: id, type: 'public-key', response: { clientDataJSON: 1, signature: [] } }))
  for (const answer of broken) {
    const browser = new Browser()
    expect([answer.slice(0, 60), (await send(browser, await loginForm(browser), answer)).status]).toEqual([
      answer.slice(0, 60),
      422,
    ])
    const { fields } = formThat(await factorPage(service, own), 'add_passkey')
    const form = { ...Object.fromEntries(fields), passkey: answer }
    expect((await own.post(`${service.issuer}/second-factor`, form)).status).toBe(422)
  }
})

test('X07 a credential id belongs to the user who added it first', async () => {
  const { id, passkey } = await personWithPasskey()
  const other = await personAt(service)
  await add(other.browser, passkey)
  expect([await numberOf(id), await numberOf(other.id)]).toEqual([1, 0])
  const browser = new Browser()
  expect(await enter(passkey, { user: Buffer.from(other.id).toString('base64url') }, browser)).toBe(303)
  expect((await browser.open(`${service.issuer}/account`)).text).not.toContain(other.email)
})

test('X08 the passkey of a disabled user, and a removed one, do not sign in', async () => {
  const [disabled, removed] = [await personWithPasskey(), await personWithPasskey()]
  await okAdmin(service, 'PATCH', `/admin/users/${disabled.id}/disable`)
  const { fields } = formThat(await removed.browser.open(`${service.issuer}/account`), 'remove')
  await removed.browser.post(`${service.issuer}/second-factor`, Object.fromEntries(fields))
  expect(await numberOf(removed.id)).toBe(0)
  for (const { passkey } of [disabled, removed]) expect(await enter(passkey)).toBe(422)
})

test('X09 the form of another browser adds no passkey', async () => {
  const [person, thief] = [await personAt(service), await personAt(service)]
  const page = await factorPage(service, thief.browser)
  expect((await add(person.browser, new Passkey(), {}, page)).status).toBe(403)
  expect(await numberOf(person.id)).toBe(0)
})
