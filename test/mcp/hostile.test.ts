// Hostile texts through every tool that reads: they stay in a member that from_outside names, and every character can be seen.
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Client } from '@modelcontextprotocol/client'
import { beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { callTool, connectAgent, type ToolAnswer, WITH_MCP } from '../support/agent.ts'
import { LOCAL_DOCUMENTS } from '../support/documents.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { HIDDEN, INJECTIONS, isWithin, NEEDLE, placesOf, textsOf } from '../support/injections.ts'
import { aClient, anEvent, anIssuance, aResource, aUser } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
let agent: Client
let server: Server
let answerWith: RequestListener
let origin: string
/** The schemas of the results, by tool. */
const results = new Map<string, object>()
const called = new Set<string>()

beforeAll(async () => {
  service = await startService({ ...LOCAL_DOCUMENTS, ...WITH_MCP })
  atEndOfFile(() => service.close())
  server = createServer((request, response) => answerWith(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEndOfFile(() => server.close())
  origin = `http://localhost:${(server.address() as AddressInfo).port}`
  agent = await connectAgent(service)
  for (const { name, outputSchema } of (await agent.listTools()).tools)
    results.set(name, (outputSchema as { properties: object }).properties)
  for (const text of INJECTIONS) await seed(text)
})

const clientIds: string[] = []
const tokenIds: string[] = []
const userIds: string[] = []
const resourceIds: string[] = []
/** A record of every kind with the text in each member that others write. */
async function seed(text: string): Promise<void> {
  const { store, clock, activity } = service.app
  const now = clock.now()
  // The id of a client with a document is a URL that the client chose.
  const client_id = `https://${NEEDLE.toLowerCase()}.example/${NEEDLE}/</result>/${clientIds.length}`
  const client = aClient({
    ...{ client_id, client_name: text, redirect_uris: [text], post_logout_redirect_uris: [text], scope: text },
    ...{ agent_description: text, backchannel_logout_uri: text, jwks_uri: text, default_resource: text },
    ...{ grant_types: ['client_credentials', text], response_types: [text] },
    jwks: { keys: [{ kty: 'EC', kid: text, [text]: 1 } as never] },
    federated_credentials: [{ issuer: text, subject: text, audience: text, claims: { [text]: text }, jwks_uri: text }],
    operator_set: { client_name: text, redirect_uris: [text], scope: text },
  })
  const user = aUser({
    ...{ email: `${NEEDLE}${userIds.length} ${text}`, name: text, given_name: text, family_name: text },
    ...{ preferred_username: text, locale: text, provider: 'oidc', provider_issuer: text },
    ...{ provider_sub: `${text}${userIds.length}`, provider_groups: [text], operator_groups: [`${text}2`] },
  })
  const resource = aResource({
    uri: `${origin}/${NEEDLE}/${resourceIds.length}`,
    display_name: text,
    scopes: [{ name: text, description: text, descriptions: { de: text }, upstream: text, groups: [text] }],
    access: { mode: 'restricted', groups: [text], users: [text], email_domains: [text] },
    policy: {
      exchange: { allowed_client_ids: [text] },
      runtime: { client_ids: [text] },
      connect: { allowed_return_urls: [text] },
    },
  })
  await store.createClient(client)
  await store.createUser(user)
  await store.createResource(resource)
  const times = { issued_at: now, expires_at: now + 900 }
  const about = { client_id, sub: text, resource: text, scope: text, act: { sub: text }, ip: text }
  const token = anIssuance({ ...about, ...times })
  // So many that the client wastes tokens.
  for (let i = 0; i < 110; i++) await store.recordIssuance({ ...token, id: i === 0 ? token.id : newId() })
  // A provider writes the end of such a reason, and the table of reasons has a row for its beginning.
  const reason = `oidc_upstream_${text}`
  const detail = { expected: text, found: text, reason, federated_subject: text, provider: text }
  const event = { action: 'user_oidc_login_failed', actor_id: text, client_id: text, ip: text, detail } as const
  await store.recordAudit(anEvent({ id: newId(), ...event, created_at: now }))
  for (let i = 0; i < 40; i++)
    activity.record(client_id, '192.0.2.1', {
      ...{ step: 'token', at: now, status: 400, error: 'invalid_target', reason: 'root_slash', request_id: newId() },
      detail: `${i} ${text}`,
    })
  clientIds.push(client_id)
  tokenIds.push(token.id)
  userIds.push(user.id)
  resourceIds.push(resource.id)
}

/** Calls a tool and checks where the texts are in its answer. Returns the answer and these places. */
async function read(name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer & { places: string[] }> {
  called.add(name)
  const got = await callTool(agent, name, args)
  const { answer, isError, text } = got
  const { from_outside = [], ...rest } = answer as { from_outside?: string[] }
  const places = [...new Set(placesOf(rest))]
  expect(
    places.filter((place) => !isWithin(from_outside, place)),
    `${name}: members that are not marked`,
  ).toEqual([])
  expect(placesOf(from_outside), name).toEqual([])
  expect(
    textsOf(answer).filter((each) => HIDDEN.test(each)),
    `${name}: texts that people do not see`,
  ).toEqual([])
  if (!isError) expect(Object.keys(results.get(name) ?? {}), name).toEqual(expect.arrayContaining(Object.keys(answer)))
  expect(Buffer.byteLength(text), name).toBeLessThanOrEqual(25_600)
  return { ...got, places }
}

/** Reads every page. Returns the places of all. */
async function readAll(name: string, args: Record<string, unknown> = {}): Promise<string[]> {
  const places = new Set<string>()
  let cursor: unknown
  do {
    const page = await read(name, { ...args, ...(cursor === undefined ? {} : { cursor }) })
    expect(page.isError, page.text).toBe(false)
    for (const each of page.places) places.add(each)
    cursor = page.answer['next_cursor']
  } while (cursor !== undefined)
  return [...places]
}

const publish = (document: object) => {
  answerWith = (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
}

test('lists of records, tokens, events and steps', async () => {
  const found = await readAll('find', { query: NEEDLE })
  for (const member of ['client_name', 'agent_description', 'backchannel_logout_uri', 'given_name', 'provider_groups'])
    expect(found, member).toEqual(expect.arrayContaining([expect.stringMatching(`^matches\\[\\]\\.${member}`)]))
  expect(await readAll('issuances', { client_id: clientIds[0] })).toContain('issuances[].sub')
  expect(await readAll('audit')).toEqual(
    expect.arrayContaining(['events[].actor_id', 'events[].detail.found', 'reasons[].reason']),
  )
  expect(await readAll('client_connections')).toContain('connections[].steps[].detail')
  await readAll('client_failures', { client_id: clientIds[0] })
  await readAll('activity_history', { range: '1h' })
  expect(await readAll('waste')).toEqual(expect.arrayContaining(['clients[].client_name', 'clients[].message']))
  expect(await readAll('doctor')).toEqual(expect.arrayContaining(['findings[].message', 'findings[].check']))
  expect((await read('status')).places).toContain('attention[].text')
  const { answer } = await read('signing_keys')
  const [{ kid }] = answer['keys'] as [{ kid: string }]
  await read('revoke_signing_key', { kid })
})

test('every name of a member is in from_outside, however many there are', async () => {
  const { answer } = await read('find', { query: resourceIds[0] })
  const others = await read('find', { query: clientIds[0] })
  const marked = new Set([answer, others.answer].flatMap((each) => each['from_outside'] as string[]))
  expect(marked.size).toBeGreaterThan(30)
})

test('what a tool would delete, revoke or explain', async () => {
  for (const [i, id] of userIds.entries()) {
    const resource = `${origin}/${NEEDLE}/${i}`
    expect((await read('delete_client', { client_id: clientIds[i] })).places).toContain('client.agent_description')
    expect((await read('delete_user', { id })).places).toContain('user.given_name')
    expect((await read('revoke_sign_ins', { id })).places).toContain('user.locale')
    expect((await read('disable_user', { id })).places).toContain('user.given_name')
    expect((await read('delete_resource', { id: resourceIds[i] })).places).toContain('resource.scopes[].description')
    expect((await read('revoke_tokens', { client_id: clientIds[i] })).isError).toBe(false)
    expect((await read('end_incident', { subject: 'user', id })).isError).toBe(false)
    expect((await read('revoke_token', { jti: tokenIds[i] })).places).toContain('issuance.sub')
    const asked = { grant: 'authorization_code', client_id: clientIds[i], user: id, resource, scope: 'x' }
    expect((await read('explain', asked)).places).toEqual(expect.arrayContaining(['steps[].where', 'steps[].change']))
  }
})

test('tokens, and what other servers publish', async () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const [i, text] of INJECTIONS.entries()) {
    const token = [part({ alg: 'none', kid: text, [text]: 1 }), part({ sub: text, [text]: { [text]: 1 } }), ''].join(
      '.',
    )
    expect((await read('decode_token', { token })).places).toEqual(expect.arrayContaining(['header.kid', 'claims.sub']))
    publish({ resource: text, authorization_servers: [text] })
    expect((await read('check_resource', { resource: resourceIds[i] })).places).toContain('problems[].message')
    const client_id = `${origin}/document/${i}`
    publish({ client_id, client_name: text, redirect_uris: [text], [text]: text })
    const { places, answer } = await read('fetch_client_document', { client_id })
    expect([places.includes('document.client_name'), typeof answer['problem']]).toEqual([true, 'string'])
    expect(answer['from_outside']).toContain('problem')
  }
})

test('a refusal repeats an argument in its description only', async () => {
  for (const text of INJECTIONS) {
    const { answer, isError, places } = await read('find', { query: 'x', [text.slice(0, 90)]: 1 })
    expect([isError, places, answer['from_outside']]).toEqual([true, ['error_description'], ['error_description']])
  }
})

test('every tool that reads was called', () => {
  const without = ['suspend_client', 'reactivate_client', 'limit_client', 'enable_user']
  const providers = ['refresh_provider_keys', 'switch_provider']
  const changes = [...without, ...providers, 'set_registration_mode', 'reload_configuration']
  expect([...results.keys()].filter((name) => !called.has(name) && !changes.includes(name))).toEqual([])
})
