// What a run registers at the service: through the admin API, and through the pages a user sees.
import { randomBytes } from 'node:crypto'
import type { App, Machine } from './server.ts'

interface Wanted {
  /** Base of the admin API. */
  admin: string
  key: string
  machines: number
  redirect_uri: string
  scope: string
  resource: string
}
interface User {
  email: string
  password: string
}

const AT_ONCE = 16
const MAX_STEPS = 10

/** Maps items with a few calls at a time; results are in the order of the items. */
export async function mapAtOnce<T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const work = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await map(items[i] as T)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return results
}

/** Creates a resource, a user, a public client and machine clients. */
export async function registerEverything({ admin, key, machines, redirect_uri, scope, resource }: Wanted) {
  const create = async <R>(what: string, body: object): Promise<R> => {
    const response = await fetch(`${admin}/${what}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    })
    if (response.status !== 201)
      throw new Error(`POST ${admin}/${what}: ${response.status} ${(await response.text()).slice(0, 500)}`)
    return (await response.json()) as R
  }
  await create('resources', {
    slug: 'bench',
    uri: resource,
    backend_kind: 'mint',
    display_name: 'Bench',
    scopes: scope.split(' ').map((name) => ({ name, description: name })),
  })
  const user: User = { email: 'bench@example.com', password: randomBytes(16).toString('hex') }
  await create('users', { ...user, name: 'Bench' })
  const app = await create<App>('clients', {
    client_name: 'Bench app',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [redirect_uri],
    scope,
    token_endpoint_auth_method: 'none',
  })
  const numbers = Array.from({ length: machines }, (_, i) => i)
  return {
    user,
    app: { client_id: app.client_id, redirect_uri },
    machines: await mapAtOnce(numbers, async (i): Promise<Machine> => {
      const client = await create<Machine>('clients', {
        client_name: `Bench machine ${i}`,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        scope,
        token_endpoint_auth_method: 'client_secret_post',
      })
      return { client_id: client.client_id, client_secret: client.client_secret }
    }),
  }
}

/** Walks a user through login and consent, until an authorize URL leads back to the client. Returns the cookies. */
export async function signIn(authorizeUrl: string, user: User): Promise<string> {
  const cookies = new Map<string, string>()
  let [url, form]: [string, URLSearchParams | undefined] = [authorizeUrl, undefined]
  for (let step = 0; step < MAX_STEPS; step++) {
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      body: form,
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form ? { origin: new URL(url).origin } : {}),
      },
      signal: AbortSignal.timeout(20_000),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (name) cookies.set(name, value ?? '')
    }
    const page = await response.text()
    const location = response.headers.get('location')
    const next = new URL(location ?? url, url)
    if (next.origin !== new URL(authorizeUrl).origin && next.searchParams.has('code'))
      return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    if (!location && (response.status !== 200 || !page.includes('<form')))
      throw new Error(`sign-in stopped at ${url}: ${response.status} ${page.slice(0, 500)}`)
    form = location ? undefined : fill(page, user)
    url = location
      ? next.href
      : new URL(/<form[^>]*\saction="([^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? url, url).href
  }
  throw new Error(`sign-in did not end within ${MAX_STEPS} steps; last at ${url}`)
}

/** The fields of a login or consent page: what the page carries, who signs in, and yes. */
function fill(page: string, user: User): URLSearchParams {
  const fields = new URLSearchParams({ action: 'allow' })
  for (const [input] of page.matchAll(/<input\b[^>]*>/g)) {
    const attribute = (name: string) => new RegExp(`\\s${name}="([^"]*)"`).exec(input)?.[1]?.replaceAll('&amp;', '&')
    const [name, type] = [attribute('name'), attribute('type')]
    if (!name || (type === 'checkbox' && !/\schecked\b/.test(input))) continue
    const typed = type === 'password' ? user.password : type === 'email' ? user.email : undefined
    fields.append(name, typed ?? attribute('value') ?? '')
  }
  return fields
}
