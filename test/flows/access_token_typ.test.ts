// The typ of access tokens: at+jwt (RFC 9068), or JWT where a resource asks for it. The service itself accepts both.
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { addExchanger, exchange } from '../support/exchange.ts'
import { type Answer, authorize, isActive, machineToken, post, redeem, refresh } from '../support/flow.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

interface Shown {
  id: string
  uri: string
  access_token_typ: string
}

describe.each(['ES256', 'RS256'])('signed with %s', (algorithm) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ SERVICE_SIGNING_ALGORITHM: algorithm })
  })
  afterAll(() => service.close())

  let count = 0
  const made = (fields: object = {}) =>
    okAdmin<Shown>(service, 'POST', '/admin/resources', {
      slug: `typ-${++count}`,
      uri: `https://typ-${count}.example.com/mcp`,
      backend_kind: 'mint',
      scopes: [{ name: 'mcp:read' }],
      ...fields,
    })
  /** The typ of a token whose signature fits the published keys. */
  const typOf = async ({ body }: Answer) => {
    const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/jwks.json`))
    const { protectedHeader } = await jwtVerify(String(body['access_token']), keys, { issuer: service.issuer })
    return protectedHeader.typ
  }

  test('the typ is at+jwt by default and the typ of the resource otherwise, at every grant', async () => {
    for (const [fields, typ] of [
      [{}, 'at+jwt'],
      [{ access_token_typ: 'at+jwt' }, 'at+jwt'],
      [{ access_token_typ: 'JWT' }, 'JWT'],
    ] as const) {
      const { uri, access_token_typ } = await made(fields)
      expect(access_token_typ).toBe(typ)
      const [client, user] = [await addExchanger(service), await addUser(service)]
      const code = await redeem(service, client, await authorize(service, client, user, { resource: uri }))
      const again = await refresh(service, client, code.body['refresh_token'])
      const machine = await machineToken(service, await addClient(service), { resource: uri })
      for (const answer of [code, again, machine]) expect(await typOf(answer)).toBe(typ)
    }
    expect(await typOf(await machineToken(service, await addClient(service)))).toBe('at+jwt')
  })

  test('tokens of both typs are introspected, revoked and exchanged', async () => {
    for (const access_token_typ of ['at+jwt', 'JWT']) {
      const resource = await addResource(service)
      await okAdmin(service, 'PATCH', `/admin/resources/${resource.id}`, { access_token_typ })
      const client = await addExchanger(service)
      const authorized = await authorize(service, client, await addUser(service), { resource: resource.uri })
      const { access_token } = (await redeem(service, client, authorized)).body
      expect(decodeProtectedHeader(String(access_token)).typ).toBe(access_token_typ)
      expect(await isActive(service, client, access_token)).toBe(true)
      const exchanged = await exchange(service, client, { subject_token: String(access_token), resource: resource.uri })
      expect(exchanged.status, JSON.stringify(exchanged.body)).toBe(200)
      expect(await typOf(exchanged)).toBe(access_token_typ)
      await post(`${service.issuer}/oauth/revoke`, client, { token: String(access_token) })
      expect(await isActive(service, client, access_token)).toBe(false)
    }
  })

  test('a changed typ applies to new tokens, and earlier tokens stay valid', async () => {
    const { id, uri } = await made()
    const client = await addClient(service)
    const before = await machineToken(service, client, { resource: uri })
    await okAdmin(service, 'PATCH', `/admin/resources/${id}`, { access_token_typ: 'JWT' })
    const after = await machineToken(service, client, { resource: uri })
    expect([await typOf(before), await typOf(after)]).toEqual(['at+jwt', 'JWT'])
    for (const { body } of [before, after]) expect(await isActive(service, client, body['access_token'])).toBe(true)
    await okAdmin(service, 'PATCH', `/admin/resources/${id}`, { display_name: 'Other' })
    expect((await okAdmin<Shown>(service, 'GET', `/admin/resources/${id}`)).access_token_typ).toBe('JWT')
  })

  test('any other typ is refused', async () => {
    const { id } = await made()
    for (const access_token_typ of ['dpop+jwt', 'jwt', '', null, 'AT+JWT'])
      expect((await callAdmin(service, 'PATCH', `/admin/resources/${id}`, { access_token_typ })).status).toBe(400)
  })
})
