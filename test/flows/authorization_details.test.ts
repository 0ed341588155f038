// Rich authorization requests (RFC 9396), over HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { digest } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser, fieldsOf, type Page } from '../support/browser.ts'
import { envOf, runHere } from '../support/cli.ts'
import { addDeviceClient, askForCode, codesOf, consentPageOf, DEVICES, poll } from '../support/device.ts'
import {
  authorizeUrl,
  claimsOf,
  expectRefused,
  introspect,
  machineToken,
  post,
  redeem,
  refresh,
  signIn,
} from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'

const PAYMENT = {
  type: 'payment',
  description: 'Payments from an account',
  display: ['Pay {amount} to {creditor}', 'Reference {reference}'],
  schema: {
    type: 'object',
    required: ['amount', 'creditor'],
    properties: { amount: { type: 'string', pattern: '^\\d+ EUR$' }, creditor: { type: 'string' }, reference: {} },
  },
}
const NOTE = { type: 'note', description: 'One note', schema: { properties: { path: { type: 'string' } } } }
const ADA = { type: 'payment', amount: '30 EUR', creditor: 'Ada' }
const BOB = { type: 'payment', amount: '7 EUR', creditor: '<b>Bob</b>', reference: 'INV-7' }
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const BAD = 'invalid_authorization_details'

let service: TestService
let resource: Awaited<ReturnType<typeof addResource>>
let client: Awaited<ReturnType<typeof addClient>>
let browser: Browser
beforeAll(async () => {
  service = await startService({ ...DEVICES, SERVICE_TOKEN_EXCHANGE_ALLOW_SELF_EXCHANGE: 'true' })
  resource = await addResource(service, { authorization_details_types: [PAYMENT, NOTE] })
  client = await addClient(service, {
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials', EXCHANGE],
  })
  const user = await addUser(service)
  browser = new Browser()
  await signIn(service, browser, await browser.open(`${service.issuer}/login`), user.email)
})
afterAll(() => service.close())

const asParam = (details: unknown) => ({ authorization_details: JSON.stringify(details) })
const VERIFIER = 'v'.repeat(43)
const CHALLENGE = digest(VERIFIER)

/** Opens an authorization request with details. */
const ask = (details: unknown, fields: Record<string, string> = {}) =>
  browser.follow(
    authorizeUrl(service, {
      client_id: client.client_id,
      resource: resource.uri,
      code_challenge: CHALLENGE,
      ...asParam(details),
      ...fields,
    }),
  )
/** Allows what the page asks for, with these positions of the details. */
const allow = (page: Page, positions: string[] = ['0', '1']) =>
  browser.post(`${service.issuer}/consent`, [
    ...fieldsOf(page).filter(([name]) => name !== 'details'),
    ...positions.map((at): [string, string] => ['details', at]),
    ['action', 'allow'],
  ])
const codeOf = ({ location = '' }: Page) => new URL(location).searchParams.get('code') ?? ''
const errorOf = ({ location = '' }: Page) => new URL(location).searchParams.get('error')
const spend = (page: Page, fields = {}) =>
  redeem(service, client, { code: codeOf(page), verifier: VERIFIER }, { redirect_uri: REDIRECT_URI, ...fields })
const granted = async (positions?: string[]) => spend(await allow(await ask([ADA, BOB]), positions))
const detailsIn = (answer: Awaited<ReturnType<typeof spend>>) => [
  answer.body['authorization_details'],
  claimsOf(answer)['authorization_details'],
]

describe('consent', () => {
  test('shows each element in the words of its type, as text, without the line of an absent member', async () => {
    const { text } = await ask([ADA, BOB])
    const words = text.replaceAll(/<\/?bdi>/g, '')
    expect(words).toContain('Pay 30 EUR to Ada')
    expect(words).toContain('Pay 7 EUR to &lt;b&gt;Bob&lt;/b&gt;')
    expect(words.match(/Reference/g)).toHaveLength(1)
    expect((await ask([{ type: 'note', path: 'a.md' }])).text.replaceAll(/<\/?bdi>/g, '')).toContain(
      'One note<br>path: a.md',
    )
  })

  test('Z08: grants what stays checked: to the token, the answer, introspection, the record and every refresh', async () => {
    const answer = await granted(['1'])
    expect(detailsIn(answer)).toEqual([[BOB], [BOB]])
    const { access_token, refresh_token } = answer.body
    expect((await introspect(service, client, access_token))['authorization_details']).toEqual([BOB])
    const { jti } = claimsOf(answer)
    expect(await okAdmin(service, 'GET', `/admin/issuances/${jti}`)).toMatchObject({ authorization_details: [BOB] })
    expectRefused(await refresh(service, client, refresh_token, asParam([ADA])), BAD)
    expect(detailsIn(await refresh(service, client, refresh_token))).toEqual([[BOB], [BOB]])
  })

  test('Z08: with every element left out the scopes remain, and a box that was not on the page allows nothing', async () => {
    const none = await granted([])
    expect([none.body['scope'], ...detailsIn(none)]).toEqual(['mcp:read', undefined, undefined])
    for (const value of ['2', '-1', '__proto__', '01x']) {
      const page = await allow(await ask([ADA, BOB]), ['1', value])
      expect([page.status, page.location]).toEqual([400, undefined])
    }
  })

  test('remembers no details, and a form that is sent twice has one answer', async () => {
    expect(detailsIn(await granted())).toEqual([
      [ADA, BOB],
      [ADA, BOB],
    ])
    const page = await ask([ADA, BOB])
    expect(page.text).toContain('value="allow"')
    expect(errorOf(await ask([ADA], { prompt: 'none' }))).toBe('consent_required')
    const [first, again, other] = [await allow(page, ['0']), await allow(page, ['0']), await allow(page, ['1'])]
    expect(codeOf(again)).toBe(codeOf(first))
    // Another choice withdraws the first one. The code of a request is always the same.
    expect(codeOf(other)).toBe(codeOf(first))
    expect(detailsIn(await spend(other))).toEqual([[BOB], [BOB]])
    expect(codeOf(await ask(undefined))).toMatch(/^ac_/)
  })

  test('a resource without scopes takes details alone', async () => {
    const { uri } = await addResource(service, { scopes: [], authorization_details_types: [PAYMENT] })
    const page = await browser.follow(
      authorizeUrl(service, {
        client_id: client.client_id,
        resource: uri,
        scope: undefined,
        code_challenge: CHALLENGE,
        ...asParam([ADA]),
      }),
    )
    expect((await allow(page, [])).status).toBe(400)
    const answer = await spend(await allow(page, ['0']))
    expect([answer.body['scope'], ...detailsIn(answer)]).toEqual([undefined, [ADA], [ADA]])
  })

  test('a device asks with details too', async () => {
    const device = await addDeviceClient(service)
    expectRefused(await askForCode(service, device, { resource: resource.uri, ...asParam([{ type: 'x' }]) }), BAD)
    const codes = codesOf(await askForCode(service, device, { resource: resource.uri, ...asParam([ADA, BOB]) }))
    await allow(await consentPageOf(service, browser, codes.user_code), ['0'])
    expect((await poll(service, device, codes)).body['authorization_details']).toEqual([ADA])
  })
})

describe('faults', () => {
  test.each([
    ['no JSON', 'payment', /must be a JSON array/],
    ['an object', JSON.stringify(ADA), /must be a JSON array/],
    ['nested too deeply', `${'['.repeat(200)}${']'.repeat(200)}`, /must be a JSON array/],
    ['an element that is no object', '[5]', /\[0\] must be an object/],
    ['a type that is no text', '[{"type":5}]', /\[0\] must be an object/],
    ['an unknown type', '[{"type":"Payment"}]', /\[0\]\.type is not a type/],
    ['a wrong value', JSON.stringify([ADA, { ...BOB, amount: 'a lot' }]), /\[1\]\.amount does not fit/],
    ['a member missing', JSON.stringify([{ type: 'payment', amount: '1 EUR' }]), /\[0\]\.creditor is missing/],
    ['a member that is not known', JSON.stringify([{ ...ADA, speed: 1 }]), /\[0\]\.speed is not known/],
    ['too many elements', JSON.stringify(Array.from({ length: 21 }, () => ADA)), /at most 20/],
    ['too many bytes', JSON.stringify([{ type: 'note', path: 'x'.repeat(16_400) }]), /at most 16384/],
  ])('%s is refused, with the member at fault', async (_, authorization_details, message) => {
    const answer = await machineToken(service, client, { resource: resource.uri, authorization_details })
    expectRefused(answer, BAD)
    expect(answer.body['error_description']).toMatch(message)
    expect(answer.body['error_description']).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    if (authorization_details.length < 9000) expect(errorOf(await ask(undefined, { authorization_details }))).toBe(BAD)
  })

  test('a type of another resource, and any type without a resource', async () => {
    const plain = await addResource(service)
    expectRefused(await machineToken(service, client, { resource: plain.uri, ...asParam([ADA]) }), BAD)
    expectRefused(await machineToken(service, client, asParam([ADA])), BAD)
  })

  test('a grant without details refuses them', async () => {
    const assertion = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: 'x.y.z' }
    const answer = await post(`${service.issuer}/oauth/token`, client, { ...assertion, ...asParam([ADA]) })
    expect(answer.status).toBe(400)
  })
})

describe('a token request', () => {
  const WIDER = {
    'another element': [{ ...ADA, creditor: 'Eve' }],
    'one more': [ADA, BOB, { ...ADA, creditor: 'Eve' }],
    'a member more': [{ ...ADA, reference: 'x' }],
    'one of them twice': [ADA, ADA],
  }

  test('Z09: narrows the details for this access token only, and a wider one consumes nothing', async () => {
    const page = await allow(await ask([ADA, BOB]))
    for (const details of Object.values(WIDER)) expectRefused(await spend(page, asParam(details)), BAD)
    const first = await spend(page, asParam([ADA]))
    expect(detailsIn(first)).toEqual([[ADA], [ADA]])
    for (const details of Object.values(WIDER))
      expectRefused(await refresh(service, client, first.body['refresh_token'], asParam(details)), BAD)
    // The order of members says nothing.
    const turned = Object.fromEntries(Object.entries(BOB).toReversed())
    const second = await refresh(service, client, first.body['refresh_token'], asParam([turned]))
    expect(detailsIn(second)).toEqual([[BOB], [BOB]])
    expect(detailsIn(await refresh(service, client, second.body['refresh_token']))).toEqual([
      [ADA, BOB],
      [ADA, BOB],
    ])
  })

  test('Z09: an exchange narrows too, and carries no type that its target does not have', async () => {
    const { body } = await machineToken(service, client, { resource: resource.uri, ...asParam([ADA, BOB]) })
    const [alike, plain] = [
      await addResource(service, { authorization_details_types: [PAYMENT] }),
      await addResource(service),
    ]
    const exchange = (target: { uri: string }, details?: unknown) =>
      post(`${service.issuer}/oauth/token`, client, {
        grant_type: EXCHANGE,
        subject_token: String(body['access_token']),
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        resource: target.uri,
        ...(details === undefined ? {} : asParam(details)),
      })
    expect(detailsIn(await exchange(alike))).toEqual([
      [ADA, BOB],
      [ADA, BOB],
    ])
    expect(detailsIn(await exchange(alike, [BOB]))).toEqual([[BOB], [BOB]])
    for (const details of Object.values(WIDER)) expectRefused(await exchange(alike, details), BAD)
    expect(detailsIn(await exchange(plain))).toEqual([undefined, undefined])
    expectRefused(await exchange(plain, [BOB]), BAD)
  })

  test('Z08: a type that its resource no longer declares is not in new tokens', async () => {
    const own = await addResource(service, { authorization_details_types: [PAYMENT] })
    const page = await allow(await ask([ADA, BOB], { resource: own.uri }))
    const { body } = await spend(page)
    await okAdmin(service, 'PATCH', `/admin/resources/${own.id}`, { authorization_details_types: [] })
    expect(detailsIn(await refresh(service, client, body['refresh_token']))).toEqual([undefined, undefined])
  })
})

test('the metadata of the server and of each resource list the types', async () => {
  const read = async (path: string) => (await (await fetch(service.issuer + path)).json()) as Record<string, unknown>
  const { slug } = await addResource(service, { authorization_details_types: [{ ...NOTE, type: 'only here' }] })
  const all = await read('/.well-known/oauth-authorization-server')
  expect(all['authorization_details_types_supported']).toEqual(expect.arrayContaining(['payment', 'note', 'only here']))
  const own = await read(`/.well-known/oauth-protected-resource/${slug}`)
  expect(own['authorization_details_types_supported']).toEqual(['only here'])
})

test('an operator cannot declare a type that is wrong, and a schema fetches nothing', async () => {
  const path = `/admin/resources/${(await addResource(service)).id}`
  const wrong: unknown[] = [
    'payment',
    [5],
    [{ ...NOTE, type: '' }],
    [NOTE, NOTE],
    [{ ...NOTE, schema: 'text' }],
    [{ ...NOTE, schema: { type: 'nonsense' } }],
    [{ ...NOTE, schema: { $ref: `${service.issuer}/schema.json` } }],
    [{ ...NOTE, schema: { description: 'x'.repeat(16_500) } }],
    [{ ...NOTE, display: 'Read' }],
    [{ ...NOTE, display: [5] }],
  ]
  for (const authorization_details_types of wrong) {
    const answer = await fetch(service.admin + path, {
      method: 'PATCH',
      headers: { authorization: 'Bearer test-admin-key-0123456789', 'content-type': 'application/json' },
      body: JSON.stringify({ authorization_details_types }),
    })
    expect(answer.status, JSON.stringify(authorization_details_types).slice(0, 80)).toBe(400)
  }
  expect(await okAdmin(service, 'PATCH', path, { authorization_details_types: [NOTE] })).toMatchObject({
    authorization_details_types: [NOTE],
  })
})

test('the command line takes a type and an element as JSON, and explain names the member at fault', async () => {
  const { slug, uri } = await addResource(service)
  const run = (...args: string[]) => runHere(['admin', ...args, '--json'], envOf(service))
  await run('resource', 'update', '--slug', slug, '--details-type', JSON.stringify(PAYMENT))
  const shown = await okAdmin(service, 'GET', `/admin/resources/${slug}`)
  expect(shown).toMatchObject({ authorization_details_types: [PAYMENT] })
  const request = ['--grant', 'client_credentials', '--client-id', client.client_id, '--resource', uri]
  const explained = async (detail: object) =>
    JSON.parse((await run('try', 'explain', ...request, '--detail', JSON.stringify(detail))).stdout)
  expect(await explained(ADA)).toMatchObject({ ok: true, claims: { authorization_details: [ADA] } })
  const { ok, steps } = await explained({ ...ADA, amount: 'a lot' })
  expect(ok).toBe(false)
  expect(steps.find(({ outcome }: { outcome: string }) => outcome === 'failed')).toMatchObject({
    rule: 'authorization_details',
    where: expect.stringContaining('[0].amount'),
  })
})
