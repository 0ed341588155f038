// POST /admin/incidents: what an incident reaches, and what ends with it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { addExchanger, aPerson, exchange } from '../support/exchange.ts'
import { isActive, machineToken, refresh } from '../support/flow.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

interface Incident {
  steps: { step: string; result: string; tokens?: number; sign_ins?: number; message?: string }[]
  about: Record<string, string>
  remains: string[]
  report: string
  request_id?: string
}
let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const incident = (body: object) => okAdmin<Incident>(service, 'POST', '/admin/incidents', body)
const stepsOf = ({ steps }: Incident) => steps.map(({ step, result }) => `${step} ${result}`)
const jtiOf = (token: unknown) => JSON.parse(atob(String(token).split('.')[1] ?? '')).jti as string

/** A person who is signed in at a client, with an exchanged token of another client. */
async function scene() {
  const [client, other] = [await addExchanger(service), await addExchanger(service)]
  const resource = await addResource(service, { policy: { exchange: { allowed_client_ids: [other.client_id] } } })
  const person = await aPerson(service)
  const { body } = await person.signIn(client, resource)
  await person.consent(other, resource)
  const exchanged = await exchange(service, other, { subject_token: body['access_token'], resource: resource.uri })
  return { client, other, person, body, exchanged: exchanged.body['access_token'] }
}

describe('POST /admin/incidents', () => {
  test('a leaked token: a dry run counts each step and ends nothing; the token ends with what was exchanged from it, the sign-in stays', async () => {
    const { client, other, body, exchanged, person } = await scene()
    const id = jtiOf(body['access_token'])
    const dry = await incident({ subject: 'token', id, dry_run: true })
    expect(dry.about).toMatchObject({ jti: id, client_id: client.client_id, user_id: person.user.id })
    expect(dry.steps.map(({ step }) => step)).toEqual([
      'key',
      'suspend',
      'sign_out',
      'sign_in',
      'token',
      'client_tokens',
    ])
    expect(dry.steps.find(({ step }) => step === 'sign_out')).toMatchObject({ tokens: 2, sign_ins: 1 })
    expect(await isActive(service, client, body['access_token'])).toBe(true)
    const done = await incident({ subject: 'token', id, end: ['token'] })
    expect(stepsOf(done)).toEqual(['token done'])
    expect(await isActive(service, client, body['access_token'])).toBe(false)
    expect(await isActive(service, other, exchanged)).toBe(false)
    expect((await refresh(service, client, body['refresh_token'])).status).toBe(200)
    const events = await okAdmin<{ action: string }[]>(service, 'GET', `/admin/audit?request_id=${done.request_id}`)
    expect(events.map(({ action }) => action).sort()).toEqual(['incident_handled', 'issuance_revoked'])
    expect(done.report).toContain(`- done: issuance.revoke.`)
  })

  test('a leaked refresh token: decode names its sign-in, which ends with its tokens and no other', async () => {
    const { client, body, person } = await scene()
    const decoded = await okAdmin<Record<string, string>>(service, 'POST', '/admin/try/decode', {
      token: body['refresh_token'],
    })
    expect(decoded).toMatchObject({ kind: 'refresh_token', active: true, user_id: person.user.id })
    await incident({ subject: 'sign_in', id: decoded['family_id'], end: ['sign_in'] })
    expect((await refresh(service, client, body['refresh_token'])).body['error']).toBe('invalid_grant')
    expect(await isActive(service, client, body['access_token'])).toBe(false)
    const [event] = await eventsOf(service, 'token_revoked')
    expect(event).toMatchObject({ actor_id: 'admin', client_id: client.client_id })
  })

  test('a person left: disabled, every token ended, and a second time the rest is refused and nothing else fails', async () => {
    const { person, client, body } = await scene()
    const asked = { subject: 'user', id: person.user.id }
    const done = await incident({ ...asked, end: ['user_tokens', 'disable'] })
    expect(stepsOf(done)).toEqual(['disable done', 'user_tokens done'])
    expect(await isActive(service, client, body['access_token'])).toBe(false)
    expect(await okAdmin(service, 'GET', `/admin/users/${person.user.id}`)).toMatchObject({ status: 'disabled' })
    const again = await incident({ ...asked, dry_run: true })
    expect(again.remains).toContain('The user is disabled already.')
    expect(again.steps).toMatchObject([{ step: 'user_tokens', tokens: 0 }])
  })

  test('a client floods: it is limited, suspended and its tokens end', async () => {
    const client = await addClient(service)
    const token = String((await machineToken(service, client)).body['access_token'])
    const done = await incident({
      ...{ subject: 'client', id: client.client_id, requests_per_second: 7 },
      end: ['limit', 'suspend', 'client_tokens'],
    })
    expect(stepsOf(done)).toEqual(['limit done', 'suspend done', 'client_tokens done'])
    expect(done.steps.at(-1)).toMatchObject({ tokens: 1 })
    expect(await service.app.store.findClient({ client_id: client.client_id })).toMatchObject({
      status: 'suspended',
      limits: { requests_per_second: 7 },
    })
    expect(await isActive(service, await addClient(service), token)).toBe(false)
  })

  test('a leaked API key is known by its text and revoked; an operator may not, and nothing is done then', async () => {
    const create = (name: string, capability: string) =>
      okAdmin<{ id: string; key: string }>(service, 'POST', '/admin/api-keys', { name, capability })
    const [leaked, operator] = [await create('leaked', 'viewer'), await create('night', 'operator')]
    const keyOf = ({ key }: { key: string }) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })
    const decoded = await okAdmin<Record<string, string>>(service, 'POST', '/admin/try/decode', { token: leaked.key })
    expect(decoded).toMatchObject({ kind: 'api_key', api_key_id: leaked.id })
    const body = { subject: 'api_key', id: leaked.id, end: ['api_key'] }
    const refused = await callAdmin(service, 'POST', '/admin/incidents', body, keyOf(operator))
    expect([refused.status, refused.body]).toMatchObject([
      403,
      { error_description: expect.stringContaining('api_key') },
    ])
    expect(stepsOf(await incident(body))).toEqual(['api_key done'])
    expect((await callAdmin(service, 'GET', '/admin/clients', undefined, keyOf(leaked))).status).toBe(401)
  })

  test.each([
    ['a step of another incident', { subject: 'client', end: ['key'] }, 'there is no step key here'],
    ['no step', { subject: 'client' }, 'end names no step'],
  ])('%s is refused', async (_name, body, message) => {
    const { client_id } = await addClient(service)
    const refused = await callAdmin(service, 'POST', '/admin/incidents', { ...body, id: client_id })
    expect(refused).toMatchObject({ status: 400, body: { error_description: expect.stringContaining(message) } })
  })

  test('what does not exist is not found', async () => {
    for (const subject of ['token', 'sign_in', 'user', 'client', 'key', 'api_key'])
      expect((await callAdmin(service, 'POST', '/admin/incidents', { subject, id: 'x', dry_run: true })).status).toBe(
        404,
      )
  })
})
