// An identity provider of a company, for one machine: it creates people and a group over SCIM, signs them in with OpenID Connect, and
// deactivates one of them. A resource server that verifies tokens without asking the service then refuses the tokens of that person.
// README.md beside it runs it. The variables PORT, ISSUER, SCIM_KEY and CLIENT_SECRET configure it.
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createVerifier, Refusal } from '@service/resource-server'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const { PORT = '3001', ISSUER = 'http://localhost:9000', SCIM_KEY, CLIENT_SECRET } = process.env
const PROVIDER = `http://localhost:${PORT}`
/** The resource, the client of its server, and the client of its users, as README.md registers them. */
const [RESOURCE, SERVER, CLIENT, CALLBACK] = [
  'https://notes.example.com/mcp',
  'notes-server',
  'chat',
  'https://chat.example.com/callback',
]

// 1. The provider for sign-ins: metadata, keys, and ID tokens. A real provider asks people for their passwords first.
const { privateKey, publicKey } = await generateKeyPair('ES256')
const keys = [{ ...(await exportJWK(publicKey)), kid: 'company-1', alg: 'ES256', use: 'sig' }]
/** The person who uses the browser, and the claims of each code. */
let atBrowser
const codes = new Map()

function authorize({ redirect_uri, state, nonce, client_id }) {
  const code = randomUUID()
  const { externalId, userName } = atBrowser
  codes.set(code, { aud: client_id, nonce, sub: externalId, email: userName, email_verified: true })
  return `${redirect_uri}?${new URLSearchParams({ code, state })}`
}
const idToken = (claims) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: 'company-1' })
    .setIssuer(PROVIDER)
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey)

const METADATA = {
  issuer: PROVIDER,
  authorization_endpoint: `${PROVIDER}/authorize`,
  token_endpoint: `${PROVIDER}/token`,
  jwks_uri: `${PROVIDER}/jwks.json`,
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
}
const provider = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, PROVIDER)
  if (pathname === '/authorize')
    return response.writeHead(302, { location: authorize(Object.fromEntries(searchParams)) }).end()
  const answers = {
    '/jwks.json': () => ({ keys }),
    '/token': async () => {
      const claims = codes.get(new URLSearchParams(await text(request)).get('code'))
      return { access_token: randomUUID(), token_type: 'Bearer', id_token: await idToken(claims) }
    },
  }
  const answer = await (answers[pathname] ?? (() => METADATA))()
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}).listen(Number(PORT), 'localhost')
await once(provider, 'listening')

// 2. The client of SCIM. `externalId` is the `sub` of the ID tokens.
async function scim(method, path, body) {
  const response = await fetch(`${ISSUER}/scim/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${SCIM_KEY}`, 'content-type': 'application/scim+json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.status === 204 ? undefined : response.json()
}
async function create(name) {
  const person = { userName: `${name.toLowerCase()}@corp.example.com`, externalId: randomUUID() }
  const { id } = await scim('POST', '/Users', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    ...person,
    displayName: name,
    active: true,
  })
  return { ...person, name, id }
}

// 3. The browser and the client of a person: sign-in at the provider, consent, and the code for a token (RFC 7636).
async function tokenOf(person) {
  atBrowser = person
  const cookies = new Map()
  const open = async (url, form) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const sent = form ? { method: 'POST', body: new URLSearchParams(form) } : {}
    const response = await fetch(url, { redirect: 'manual', headers: { cookie, accept: 'text/html' }, ...sent })
    for (const each of response.headers.getSetCookie()) {
      const [pair] = each.split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    const location = response.headers.get('location')
    if (!location) return { page: await response.text() }
    return location.startsWith(CALLBACK) ? { callback: new URL(location) } : open(new URL(location, url))
  }
  const verifier = randomUUID() + randomUUID()
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: CLIENT,
    redirect_uri: CALLBACK,
    resource: RESOURCE,
    scope: 'notes:read',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const { page = '' } = await open(`${ISSUER}/oidc/start?redirect=${encodeURIComponent(`/oauth/authorize?${query}`)}`)
  const fields = [...page.matchAll(/<input[^>]* name="([^"]*)"[^>]* value="([^"]*)"/g)].map(([, name, value]) => [
    name,
    value.replaceAll('&amp;', '&'),
  ])
  const { callback } = await open(`${ISSUER}/consent`, [...fields, ['action', 'allow']])
  if (!callback) throw new Error(`there is no consent page, but: ${page}`)
  const response = await fetch(`${ISSUER}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: CLIENT,
      code: callback.searchParams.get('code'),
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    }),
  })
  return (await response.json()).access_token
}

// 4. The resource server. The service sends it the events of people who leave, and it sends the service no question about a token.
const resourceServer = createVerifier({
  issuer: ISSUER,
  resource: RESOURCE,
  revocations: { clientId: SERVER, clientSecret: CLIENT_SECRET },
})
const answerTo = async (token) => {
  try {
    await resourceServer.verify(new Request(RESOURCE, { headers: { authorization: `Bearer ${token}` } }))
    return 'accepted'
  } catch (error) {
    if (error instanceof Refusal) return `refused, ${error.status} ${error.code}`
    throw error
  }
}
const show = async (what, people, tokens) => {
  const answers = await Promise.all(tokens.map(answerTo))
  console.log([what, ...people.map(({ name }, i) => `  ${name}: ${answers[i]}`)].join('\n'))
}

// 5. What happens at the company.
const people = [await create('Ada'), await create('Grace')]
const members = people.map(({ id }) => ({ value: id }))
await scim('POST', '/Groups', {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
  displayName: 'engineering',
  members,
})
console.log('Ada and Grace were created, with the group engineering')
const tokens = [await tokenOf(people[0]), await tokenOf(people[1])]
await show('Both signed in, and have tokens', people, tokens)

const begun = performance.now()
await scim('PATCH', `/Users/${people[0].id}`, {
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations: [{ op: 'replace', value: { active: false } }],
})
while ((await answerTo(tokens[0])) === 'accepted') await sleep(5)
await show(`Ada was deactivated ${Math.round(performance.now() - begun)} ms ago`, people, tokens)

await resourceServer.close()
provider.close()
