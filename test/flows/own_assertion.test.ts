// A client's own assertion as the grant (RFC 7523 §2.1): the token of a workload, or what a client with keys has signed, without any client_id.
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { addKeyedClient, askWith, proving } from '../support/assertion.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { type Answer, post } from '../support/flow.ts'
import { addResource, startService, type TestService } from '../support/service.ts'
import { addFederated, MAILER, startKubernetes } from '../support/workload.ts'
import { JWT_BEARER, LOOPBACK, watchReasons } from '../support/xaa.ts'

let service: TestService
let uri: string
let reasonOf: ReturnType<typeof watchReasons>
beforeAll(async () => {
  service = await startService(LOOPBACK)
  reasonOf = watchReasons(service)
  uri = (await addResource(service)).uri
})
afterAll(() => service.close())

const redeem = (assertion: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  post(
    `${service.issuer}/oauth/token`,
    undefined,
    { grant_type: JWT_BEARER, assertion, resource: uri, scope: 'mcp:read', ...fields },
    headers,
  )
const refusal = (answer: Answer) => [answer.status, answer.body['error'], reasonOf(answer)]
const claimsOf = ({ status, body }: Answer) => {
  expect(status, JSON.stringify(body)).toBe(200)
  return decodeJwt(String(body['access_token']))
}

describe('the token of a workload', () => {
  const workload = async (more: Record<string, unknown> = {}) => {
    const issuer = await startKubernetes()
    const client = await addFederated(service, [{ issuer: issuer.issuer, subject: MAILER }], more)
    return { issuer, client }
  }

  test('is the token of its client, repeatedly, and recorded as client_credentials', async () => {
    const { issuer, client } = await workload()
    const token = await issuer.token(service.issuer)
    for (let i = 0; i < 2; i++)
      expect(claimsOf(await redeem(token))).toMatchObject({ sub: client.client_id, aud: [uri], scope: 'mcp:read' })
    const { issuances } = await okAdmin<{ issuances: { grant_type: string }[] }>(
      service,
      'GET',
      `/admin/issuances?client_id=${client.client_id}&limit=1`,
    )
    expect(issuances[0]?.grant_type).toBe('client_credentials')
  })

  test('is bound to the key of a proof', async () => {
    const { issuer } = await workload()
    const key = await proofKey()
    const headers = await dpop(service, key)
    expect(claimsOf(await redeem(await issuer.token(service.issuer), {}, headers))['cnf']).toEqual({ jkt: key.jkt })
  })

  test('that no credential names is refused, and its issuer receives no request', async () => {
    const issuer = await startKubernetes()
    expect(refusal(await redeem(await issuer.token(service.issuer)))).toEqual([
      400,
      'invalid_grant',
      'no_federated_credential',
    ])
    expect(issuer.asked).toEqual([])
  })

  test('is invalid_grant for another audience, and unauthorized_client without client_credentials', async () => {
    const { issuer } = await workload()
    expect(refusal(await redeem(await issuer.token('https://other.example.com')))).toEqual([
      400,
      'invalid_grant',
      'assertion_audience',
    ])
    const other = await workload({ grant_types: ['authorization_code'], redirect_uris: ['https://app.example.com/cb'] })
    expect((await redeem(await other.issuer.token(service.issuer))).body['error']).toBe('unauthorized_client')
  })

  test('authenticates no client at introspection and revocation, whatever grant_type says', async () => {
    const { issuer } = await workload()
    const assertion = await issuer.token(service.issuer)
    for (const path of ['/oauth/introspect', '/oauth/revoke'])
      expect(
        refusal(await post(service.issuer + path, undefined, { grant_type: JWT_BEARER, assertion, token: 'x' })),
      ).toEqual([401, 'invalid_client', 'no_credentials'])
  })

  test('beside any client identification it is not this grant', async () => {
    const { issuer, client } = await workload()
    const token = await issuer.token(service.issuer)
    const named: Record<string, string> = { client_id: client.client_id }
    for (const fields of [named, { ...named, client_secret: 'guess' }])
      expect((await redeem(token, fields)).status).toBeGreaterThanOrEqual(400)
    const jag = await issuer.token(service.issuer, {}, { header: { typ: 'oauth-id-jag+jwt' } })
    expect(refusal(await redeem(jag))).toEqual([401, 'invalid_client', 'no_credentials'])
  })
})

describe('what a client with keys has signed', () => {
  const keyed = () => addKeyedClient(service, { scope: 'mcp:read', grant_types: ['client_credentials'] })

  test('is its token, once, also as client_assertion afterwards', async () => {
    const client = await keyed()
    const proof = await proving(service, client)
    expect(claimsOf(await redeem(proof.client_assertion)).sub).toBe(client.client_id)
    expect(refusal(await redeem(proof.client_assertion))).toEqual([400, 'invalid_grant', 'assertion_replay'])
    expect((await askWith(service, { ...proof })).status).toBe(401)
  })

  test('by another key, and with an unknown iss, is invalid_grant', async () => {
    const [client, other] = [await keyed(), await keyed()]
    const forged = await proving(service, client, {}, other.key)
    expect((await redeem(forged.client_assertion)).body['error']).toBe('invalid_grant')
    const unknown = await proving(service, client, { claims: { iss: 'nobody', sub: 'nobody' } })
    expect(reasonOf(await redeem(unknown.client_assertion))).toBe('no_federated_credential')
  })
})
