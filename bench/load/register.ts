// Registers the clients, resources and users of a run, through the admin API and the login and consent pages.
import { randomBytes } from 'node:crypto'
import { callLoopback } from './loopback.ts'
import { type BenchIdp, newSignerKey } from './signer.ts'
import type { BenchUser, InteractiveClient, KeyedMachine, Machine } from './target.ts'

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

interface Wanted {
  /** Base of the admin API. */
  admin: string
  key: string
  machines: number
  keyedMachines: number
  redirect_uri: string
  scope: string
  resource: string
  /** The resource into which the gateway exchanges tokens. */
  gatewayResource: string
  idp: BenchIdp
}

const AT_ONCE = 16
const MAX_STEPS = 10

/** Maps items with a few concurrent calls. The results are in the order of the items. */
export async function mapAtOnce<T, R>(items: readonly T[], map: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const work = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await map(items[i] as T)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return results
}

/** Creates resources, a user, a public client, confidential clients, and a gateway that may exchange tokens and redeem assertions. */
export async function registerEverything(wanted: Wanted) {
  const { admin, key, machines, keyedMachines, redirect_uri, scope, resource, gatewayResource, idp } = wanted
  const create = async <R>(what: string, body: object): Promise<R> => {
    const response = await callLoopback(`${admin}/${what}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (response.status !== 201)
      throw new Error(`POST ${admin}/${what}: ${response.status} ${(await response.text()).slice(0, 500)}`)
    return (await response.json()) as R
  }
  const createResource = (slug: string, uri: string, policy?: object) =>
    create('resources', {
      slug,
      uri,
      backend_kind: 'mint',
      display_name: slug,
      scopes: scope.split(' ').map((name) => ({ name, description: name })),
      policy,
    })
  const createMachine = async (
    client_name: string,
    grant_types: string[],
    redirect_uris: string[] = [],
  ): Promise<Machine> => {
    const method = { token_endpoint_auth_method: 'client_secret_post' }
    const body = { client_name, grant_types, redirect_uris, scope, ...method }
    const { client_id, client_secret } = await create<Machine>('clients', body)
    return { client_id, client_secret }
  }
  const createKeyedMachine = async (client_name: string): Promise<KeyedMachine> => {
    const { kid, pem, jwk } = newSignerKey()
    const method = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] } }
    const body = { client_name, grant_types: ['client_credentials'], redirect_uris: [], scope, ...method }
    return { client_id: (await create<Machine>('clients', body)).client_id, kid, pem }
  }
  await createResource('bench', resource)
  const user: BenchUser = { email: 'bench@example.com', password: randomBytes(16).toString('hex') }
  await create('users', { ...user, name: 'Bench' })
  const app = await create<InteractiveClient>('clients', {
    client_name: 'Bench app',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [redirect_uri],
    scope,
    token_endpoint_auth_method: 'none',
  })
  const gateway = await createMachine('Bench gateway', [TOKEN_EXCHANGE, JWT_BEARER])
  const { client_id } = gateway
  await createResource('bench-gateway', gatewayResource, { exchange: { allowed_client_ids: [client_id] } })
  const { issuer, jwks_uri } = idp
  const { id: idp_id } = await create<{ id: string }>('idps', { issuer, jwks_uri })
  await create('xaa/policies', { idp_id, client_ids: [client_id], scopes: scope.split(' '), resources: [resource] })
  const numbers = (length: number) => Array.from({ length }, (_, i) => i)
  return {
    user,
    app: { client_id: app.client_id, redirect_uri },
    gateway,
    // They push authorization requests too, which no browser opens.
    machines: await mapAtOnce(numbers(machines), (i) =>
      createMachine(`Bench machine ${i}`, ['client_credentials', 'authorization_code'], [redirect_uri]),
    ),
    keyedMachines: await mapAtOnce(numbers(keyedMachines), (i) => createKeyedMachine(`Bench machine with a key ${i}`)),
  }
}

/**
 * Sends a user through login and consent until the authorization request redirects to the client. `cookies` are the cookies of the
 * browser of the user; new ones are added.
 */
export async function signIn(authorizeUrl: string, user: BenchUser, cookies: Map<string, string>): Promise<void> {
  let [url, form]: [string, URLSearchParams | undefined] = [authorizeUrl, undefined]
  for (let step = 0; step < MAX_STEPS; step++) {
    const response = await callLoopback(url, {
      method: form ? 'POST' : 'GET',
      body: form,
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        cookie: cookieHeader(cookies),
        ...(form ? { origin: new URL(url).origin } : {}),
      },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (name) cookies.set(name, value ?? '')
    }
    const page = await response.text()
    const location = response.headers.get('location')
    const next = new URL(location ?? url, url)
    if (next.origin !== new URL(authorizeUrl).origin && next.searchParams.has('code')) return
    if (!location && (response.status !== 200 || !page.includes('<form')))
      throw new Error(`sign-in stopped at ${url}: ${response.status} ${page.slice(0, 500)}`)
    form = location ? undefined : fill(page, user)
    url = location
      ? next.href
      : new URL(/<form[^>]*\saction="([^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? url, url).href
  }
  throw new Error(`sign-in did not end within ${MAX_STEPS} steps; last at ${url}`)
}

export const cookieHeader = (cookies: ReadonlyMap<string, string>): string =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

/** The fields of the first form of a page, which is that of the login or the consent: the hidden fields, the credentials and the approval. */
function fill(page: string, user: BenchUser): URLSearchParams {
  const fields = new URLSearchParams({ action: 'allow' })
  const form = page.slice(page.indexOf('<form'), page.indexOf('</form>'))
  for (const [input] of form.matchAll(/<input\b[^>]*>/g)) {
    const attribute = (name: string) => new RegExp(`\\s${name}="([^"]*)"`).exec(input)?.[1]?.replaceAll('&amp;', '&')
    const [name, type] = [attribute('name'), attribute('type')]
    if (!name || (type === 'checkbox' && !/\schecked\b/.test(input))) continue
    const typed = type === 'password' ? user.password : name === 'email' ? user.email : undefined
    fields.append(name, typed ?? attribute('value') ?? '')
  }
  return fields
}
