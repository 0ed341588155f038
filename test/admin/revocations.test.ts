import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { envOf, okHere } from '../support/cli.ts'
import { addExchanger, aPerson, exchange } from '../support/exchange.ts'
import { authorize, isActive, machineToken, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

type Credentials = { client_id: string; client_secret: string }
interface Toll {
  dry_run: boolean
  tokens: number
  families: number
  requests: number
  clients: number
}
const tokenOf = async (client: Credentials) => String((await machineToken(service, client)).body['access_token'])
const revoke = (body: object) => okAdmin<Toll>(service, 'POST', '/admin/revocations', body)

describe('POST /admin/revocations', () => {
  test('a dry run reports what the revocation would do, and records no event', async () => {
    const client = await addClient(service)
    const tokens = [await tokenOf(client), await tokenOf(client)]
    const { client_id } = client
    const toll = { tokens: 2, families: 0, requests: 0, clients: 1 }
    expect(await revoke({ client_id, dry_run: true })).toEqual({ dry_run: true, ...toll })
    expect(await isActive(service, client, tokens[0])).toBe(true)
    expect((await eventsOf(service, 'tokens_revoked')).filter((each) => each.client_id === client_id)).toEqual([])
    expect(await revoke({ client_id })).toEqual({ dry_run: false, ...toll })
    for (const token of tokens) expect(await isActive(service, client, token)).toBe(false)
    const events = (await eventsOf(service, 'tokens_revoked')).filter((each) => each.client_id === client_id)
    expect(events.map(({ detail }) => detail)).toEqual([{ client_id, ...toll }])
    expect(await revoke({ client_id })).toMatchObject({ tokens: 0, clients: 0 })
  })

  test('revoking a user revokes every token and sign-in, including exchanged tokens', async () => {
    const [client, other] = [await addExchanger(service), await addExchanger(service)]
    const resource = await addResource(service, { policy: { exchange: { allowed_client_ids: [other.client_id] } } })
    const person = await aPerson(service)
    const { body } = await person.signIn(client, resource)
    await person.consent(other, resource)
    const exchanged = await exchange(service, other, { subject_token: body['access_token'], resource: resource.uri })
    expect([exchanged.status, exchanged.body['error_description']]).toEqual([200, undefined])
    expect(await revoke({ user_id: person.user.id })).toMatchObject({ tokens: 2, clients: 2 })
    expect(await isActive(service, client, body['access_token'])).toBe(false)
    expect(await isActive(service, other, exchanged.body['access_token'])).toBe(false)
    expect((await refresh(service, client, body['refresh_token'])).body['error']).toBe('invalid_grant')
  })

  test('an unredeemed code is cancelled with its client, its user or its resource; other codes are kept', async () => {
    const resource = await addResource(service)
    for (const by of ['client_id', 'user_id', 'resource'] as const) {
      const [client, user] = [await addClient(service), await addUser(service)]
      const mine = await authorize(service, client, user, { resource: resource.uri })
      const other = await addClient(service)
      await authorize(service, other, await addUser(service))
      const value = { client_id: client.client_id, user_id: user.id, resource: resource.uri }[by]
      expect(await revoke({ [by]: value, dry_run: true })).toMatchObject({ requests: 1, tokens: 0, families: 0 })
      expect(await revoke({ [by]: value })).toMatchObject({ requests: 1, clients: 1 })
      expect((await redeem(service, client, mine)).body['error']).toBe('invalid_grant')
      expect((await revoke({ client_id: other.client_id, dry_run: true })).requests).toBe(1)
    }
  })

  test('`admin revoke` does the same as the REST call', async () => {
    const client = await addClient(service)
    const token = await tokenOf(client)
    const flags = ['admin', 'revoke', '--client-id', client.client_id, '--until', '2999-01-01T00:00:00Z']
    expect(await okHere([...flags, '--dry-run'], envOf(service))).toBe(
      'dry_run=true\ntokens=1\nfamilies=0\nrequests=0\nclients=1\n',
    )
    expect(await isActive(service, client, token)).toBe(true)
    expect(await okHere(flags, envOf(service))).toMatch(/^dry_run=false\ntokens=1\n/)
    expect(await isActive(service, client, token)).toBe(false)
  })

  test.each([
    ['nothing that it is about', {}, 'needs one of'],
    ['only a dry run', { dry_run: true }, 'needs one of'],
    ['an unknown member, which would have narrowed it', { kid: 'k', clientid: 'c' }, 'clientid'],
    ['a range that ends before it begins', { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' }, 'until'],
    ['a duration for a time', { since: '24h' }, 'since'],
    ['an empty client', { client_id: '' }, 'client_id'],
  ])('refuses %s, and revokes nothing', async (_what, body, word) => {
    const client = await addClient(service)
    const token = await tokenOf(client)
    const answer = await callAdmin(service, 'POST', '/admin/revocations', body)
    expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request'])
    expect(answer.body['error_description']).toContain(word)
    expect(await isActive(service, client, token)).toBe(true)
  })
})

describe('POST /admin/keys/{kid}/revoke', () => {
  const verified = (token: string) =>
    jwtVerify(token, createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`)))
  const kidOf = (token: string) => decodeProtectedHeader(token).kid ?? ''
  const revokeKey = (kid: string, body: object = {}) =>
    okAdmin<Record<string, unknown>>(service, 'POST', `/admin/keys/${kid}/revoke`, body)

  test('revoking the current key makes a new key current and invalidates every token that it signed', async () => {
    const client = await addClient(service)
    const token = await tokenOf(client)
    const kid = kidOf(token)
    const dry = await revokeKey(kid, { dry_run: true })
    expect(dry).toMatchObject({ dry_run: true, kid, current_kid: kid })
    expect(dry['tokens']).toBeGreaterThan(0)
    await verified(token)
    const wet = await revokeKey(kid)
    expect({ ...wet, current_kid: kid }).toEqual({ ...dry, dry_run: false })
    expect(wet['current_kid']).not.toBe(kid)
    await expect(verified(token)).rejects.toThrow()
    expect(await isActive(service, client, token)).toBe(false)
    const next = await tokenOf(client)
    expect(kidOf(next)).toBe(wet['current_kid'])
    await verified(next)
    expect((await eventsOf(service, 'key_revoked'))[0]?.detail).toMatchObject({ kid, tokens: dry['tokens'] })
    expect((await callAdmin(service, 'POST', `/admin/keys/${kid}/revoke`, {})).status).toBe(404)
  })

  test('revoking a previous key keeps the current key and the tokens that it signed', async () => {
    const client = await addClient(service)
    const old = await tokenOf(client)
    await okAdmin(service, 'POST', '/admin/keys/rotate')
    const young = await tokenOf(client)
    const printed = await okHere(['admin', 'key', 'revoke', '--kid', kidOf(old)], envOf(service))
    expect(printed).toContain(`current_kid=${kidOf(young)}\n`)
    expect([await isActive(service, client, old), await isActive(service, client, young)]).toEqual([false, true])
  })

  test('after a key is revoked, sign-ins continue and new tokens have the new key', async () => {
    const client = await addClient(service)
    const { body } = await (await aPerson(service)).signIn(client as never)
    await revokeKey(kidOf(String(body['access_token'])))
    expect((await refresh(service, client, body['refresh_token'])).status).toBe(200)
  })
})
