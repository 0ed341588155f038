// Rotation of session secrets: what the earlier secret made is accepted while it is in the list, and refused afterwards.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSealer, type Sealer } from '../../src/crypto/seal.ts'
import { digest } from '../../src/lib/id.ts'
import { browserOf, isSignedIn } from '../support/account.ts'
import { AdminBrowser } from '../support/admin_page.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { DEVICES, deviceScene, enterCode } from '../support/device.ts'
import { authorize, redeem, refresh, signIn } from '../support/flow.ts'
import { ADMIN_KEY, addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

const NEW = 'new-secret-0123456789-0123456789-abc'
const OLD = 'old-secret-0123456789-0123456789-abc'
const REMOVED = 'removed-secret-0123456789-0123456789'
const COOKIE = 'service_session'
const ACCOUNT_MAX = 2

let service: TestService
beforeAll(async () => {
  service = await startService({
    ...DEVICES,
    SERVICE_SESSION_SECRETS: `${NEW},${OLD}`,
    SERVICE_OAUTH_REFRESH_GRACE: '30s',
    SERVICE_RATE_LIMIT_ACCOUNT_FAIL_MAX: String(ACCOUNT_MAX),
  })
})
afterAll(() => service.close())

/** Does some work as an instance does whose only secret is this one. */
async function withSecret<R>(secret: string, work: () => Promise<R>): Promise<R> {
  const app = service.app as { sealer: Sealer; successors: Pick<Sealer, 'mac' | 'macs'> }
  const { sealer, successors } = app
  app.sealer = app.successors = createSealer([secret])
  try {
    return await work()
  } finally {
    Object.assign(app, { sealer, successors })
  }
}

/** A secret that made something before the rotation, and whether it is in the list. */
const EARLIER = [
  [OLD, true],
  [REMOVED, false],
] as const

test('the first secret of the list seals', async () => {
  const user = await addUser(service)
  const browser = await browserOf(service, user.email)
  expect(await createSealer([NEW]).open(browser.cookies.get(COOKIE) ?? '')).toBeDefined()
})

test.each(EARLIER)('a session cookie of the secret %s is accepted: %s', async (secret, isAccepted) => {
  const user = await addUser(service)
  const browser = await withSecret(secret, () => browserOf(service, user.email))
  expect(await isSignedIn(service, browser)).toBe(isAccepted)
})

test.each(EARLIER)('a login form of the secret %s is accepted: %s', async (secret, isAccepted) => {
  const user = await addUser(service)
  const browser = new Browser()
  const page = await withSecret(secret, () => browser.open(`${service.issuer}/login`))
  expect((await signIn(service, browser, page, user.email)).status === 303).toBe(isAccepted)
})

test.each(EARLIER)('a form of a session of the secret %s is accepted: %s', async (secret, isAccepted) => {
  const { browser, begin } = await deviceScene(service)
  const { user_code } = await begin()
  const { sid } = (await createSealer([NEW]).open(browser.cookies.get(COOKIE) ?? '')) ?? {}
  const sealWith = async (each: string) => browser.cookies.set(COOKIE, await createSealer([each]).seal({ sid }))
  await sealWith(secret)
  const page = await withSecret(secret, () => browser.open(`${service.issuer}/device`))
  await sealWith(NEW)
  const answer = await browser.post(`${service.issuer}/device`, { ...Object.fromEntries(fieldsOf(page)), user_code })
  expect(answer.status).toBe(isAccepted ? 303 : 403)
})

test.each(EARLIER)('a device code of the secret %s is accepted: %s', async (secret, isAccepted) => {
  const { browser, begin } = await deviceScene(service)
  const { user_code } = await withSecret(secret, () => begin())
  expect((await enterCode(service, browser, user_code)).status).toBe(isAccepted ? 303 : 422)
})

test.each(EARLIER)('a retry of a refresh with the secret %s is answered: %s', async (secret, isAnswered) => {
  const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
  const { body } = await redeem(service, client, await authorize(service, client, user, { resource: resource.uri }))
  const first = await withSecret(secret, () => refresh(service, client, body['refresh_token']))
  const retry = await refresh(service, client, body['refresh_token'])
  expect([retry.status, retry.body['refresh_token']]).toEqual(
    isAnswered ? [200, first.body['refresh_token']] : [400, undefined],
  )
})

test.each(EARLIER)(
  'failed logins that were counted with the secret %s delay a login: %s',
  async (secret, isDelayed) => {
    const user = await addUser(service)
    await withSecret(secret, async () => {
      for (let i = 0; i < ACCOUNT_MAX; i++) {
        const browser = new Browser()
        await signIn(service, browser, await browser.open(`${service.issuer}/login`), user.email, 'wrong')
      }
    })
    const before = delayed()
    await browserOf(service, user.email)
    expect(delayed() > before).toBe(isDelayed)
  },
)
const delayed = () => service.app.metrics.counted('ext_logins_delayed_total')[0]?.held.value ?? 0

test.each(EARLIER)('a session of the admin page with the secret %s is accepted: %s', async (secret, isAccepted) => {
  const { store } = service.app
  const findAdminSession = store.findAdminSession
  const config_key = createSealer([secret]).mac('admin session key', digest(ADMIN_KEY))
  const browser = new AdminBrowser(service)
  await browser.signInWithKey()
  Object.assign(store, {
    findAdminSession: async (input: Parameters<typeof findAdminSession>[0]) => {
      const found = await findAdminSession(input)
      return found && { ...found, session: { ...found.session, config_key } }
    },
  })
  try {
    expect((await browser.operator()) !== undefined).toBe(isAccepted)
  } finally {
    Object.assign(store, { findAdminSession })
  }
})

test('front threads accept every secret of the list', async () => {
  const several = await startService({ SERVICE_SESSION_SECRETS: `${NEW},${OLD}`, SERVICE_SERVER_FRONT_THREADS: '2' })
  try {
    const user = await addUser(several)
    const browser = await browserOf(several, user.email)
    const session = (await createSealer([NEW]).open(browser.cookies.get(COOKIE) ?? '')) ?? {}
    for (const [secret, isAccepted] of EARLIER) {
      browser.cookies.set(COOKIE, await createSealer([secret]).seal(session))
      expect(await isSignedIn(several, browser)).toBe(isAccepted)
    }
  } finally {
    await several.close()
  }
})
