// Authorization requests whose query has characters that are legal there, and that many programs read as something else: `?` and `\`.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, type Page } from '../support/browser.ts'
import { signedIn } from '../support/documents.ts'
import { authorizeUrl, decide, signIn } from '../support/flow.ts'
import { federating } from '../support/openid_fake.ts'
import { RealProvider } from '../support/openid_provider.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'

let op: RealProvider
let service: TestService
beforeAll(async () => {
  op = await RealProvider.listen()
  service = await startService({ ...federating(op.issuer), SERVICE_OAUTH_OPENID: 'true' })
  op.open(service)
})
afterAll(async () => {
  op.close()
  await service.close()
})

/** The URL of a request of a new client. Its state is not encoded, and stands before all other parameters. */
async function requestWith(state: string, fields: Record<string, string> = {}) {
  const { client_id, client_name } = await addClient(service, { scope: 'openid mcp:read' })
  const url = authorizeUrl(service, { client_id, state: undefined, ...fields })
  return { client_name, url: url.replace('?', `?state=${state}&`) }
}
const isLogin = ({ text }: Page) => text.includes('type="password"')
const targetOf = (location = '') => new URL(location).searchParams.get('redirect') ?? ''
const linkIn = ({ text }: Page, part: string) => {
  const href = [...text.matchAll(/href="([^"]*)"/g)].map(([, each = '']) => each).find((each) => each.includes(part))
  return new URL((href ?? '').replaceAll('&amp;', '&'), service.issuer).href
}

describe.each(['a?b', '?a', 'a\\b', 'a&?login_for=b', 'a&login_for=b?c'])('a request with state=%s', (state) => {
  test('is continued after the sign-in that it requires, and its client gets the state', async () => {
    for (const fields of [{}, { prompt: 'login' }, { max_age: '0' }]) {
      const [user, browser] = [await addUser(service), new Browser()]
      const { url } = await requestWith(state, fields as Record<string, string>)
      const { location } = await signIn(service, browser, await browser.follow(url), user.email)
      const consent = await browser.follow(location ?? '')
      expect(consent.text, JSON.stringify(fields)).toContain('value="allow"')
      const answer = await decide(service, browser, consent, 'allow')
      expect(new URL(answer.location ?? '').searchParams.get('state')).toBe(state.replace(/&.*/, ''))
    }
  })

  test('is continued for another account', async () => {
    const [user, other] = [await addUser(service), await addUser(service)]
    const browser = await signedIn(service, user)
    const consent = await browser.follow((await requestWith(state)).url)
    const login = await browser.follow(linkIn(consent, 'account=another'))
    expect(isLogin(login)).toBe(true)
    const { location } = await signIn(service, browser, login, other.email)
    const again = await browser.follow(location ?? '')
    expect(again.text).toContain('value="allow"')
    expect(again.text).toContain(other.email)
  })

  test('names its application and its language on the sign-in page, and what it requires at the provider', async () => {
    const { client_name, url } = await requestWith(state, { prompt: 'login', ui_locales: 'de' })
    const page = await new Browser().follow(url)
    expect(page.text).toContain(client_name)
    expect(page.text).toContain('lang="de"')
    const start = new URL(linkIn(page, '/oidc/start'))
    start.searchParams.delete('prompt')
    const { location = '' } = await new Browser().open(start.href)
    expect(new URL(location).searchParams.get('prompt')).toBe('login')
  })

  test('has a link back to its application when the sign-in at the provider fails', async () => {
    const { url } = await requestWith(state)
    const browser = new Browser()
    const start = await browser.open(linkIn(await browser.follow(url), '/oidc/start'))
    const upstream = new URL(start.location ?? '').searchParams
    const failed = new URLSearchParams({ error: 'access_denied', state: upstream.get('state') ?? '' })
    const page = await browser.open(`${upstream.get('redirect_uri')}?${failed}`)
    expect(linkIn(page, 'error=access_denied')).toContain('error=access_denied')
  })
})

describe('the sign-in page', () => {
  test.each([
    ['an empty client_id after it', (place: string) => `${place}&client_id=`],
    ['an empty client_id before it', (place: string) => place.replace('?', '?client_id=&')],
    ['a dot segment in its path', (place: string) => place.replace('/oauth/', '/oauth/./')],
    ['a fragment', (place: string) => `${place}#&client_id=other`],
  ])('L27 names the application of a request with %s', async (_what, changed) => {
    const { client_name, url } = await requestWith('s')
    const { location } = await new Browser().open(url)
    const query = new URLSearchParams({ redirect: changed(targetOf(location)) })
    const { text } = await new Browser().open(`${service.issuer}/login?${query}`)
    expect(text).toContain(`<strong><bdi>${client_name}</bdi></strong>`)
  })
})
