// A strict third-party client, used as documented. Other clients may refuse the same responses that it refuses.
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { walk } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { authorizationRequest, discover, INSECURE } from './strict_client.ts'

let service: TestService
let as: oauth.AuthorizationServer
beforeAll(async () => {
  service = await startService()
  as = await discover(service.issuer)
})
afterAll(() => service.close())

type Registered = Awaited<ReturnType<typeof addClient>>
interface Kind {
  method: string
  authentication: (client: Registered) => oauth.ClientAuth
}
const KINDS: Kind[] = [
  { method: 'none', authentication: () => oauth.None() },
  { method: 'client_secret_basic', authentication: (client) => oauth.ClientSecretBasic(client.client_secret) },
  { method: 'client_secret_post', authentication: (client) => oauth.ClientSecretPost(client.client_secret) },
]

async function setUp({ method, authentication }: Kind) {
  const registered = await addClient(service, { token_endpoint_auth_method: method })
  const [user, resource] = [await addUser(service), await addResource(service)]
  const client: oauth.Client = { client_id: registered.client_id }
  return { registered, client, user, resource, auth: authentication(registered) }
}

/** The flow of a user: a validated authorization response, and then the tokens for its code. */
async function signedIn(kind: Kind) {
  const parts = await setUp(kind)
  const { client, user, resource, auth } = parts
  const { url, verifier, state } = await authorizationRequest(as, client, {
    scope: 'mcp:read mcp:write',
    resource: resource.uri,
  })
  const callback = await walk(service, url, user)
  const parameters = oauth.validateAuthResponse(as, client, callback, state)
  const response = await oauth.authorizationCodeGrantRequest(as, client, auth, parameters, REDIRECT_URI, verifier, {
    ...INSECURE,
    additionalParameters: { resource: resource.uri },
  })
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, response)
  return { ...parts, callback, state, tokens }
}

const validate = (token: string, audience: string) =>
  oauth.validateJwtAccessToken(
    as,
    new Request(audience, { headers: { authorization: `Bearer ${token}` } }),
    audience,
    INSECURE,
  )

test('the metadata names S256 and the iss parameter, and every endpoint is found in it', () => {
  expect(as.code_challenge_methods_supported).toEqual(['S256'])
  expect(as.authorization_response_iss_parameter_supported).toBe(true)
  for (const endpoint of ['authorization', 'token', 'introspection', 'revocation'] as const)
    expect(as[`${endpoint}_endpoint`]).toMatch(new RegExp(`^${service.issuer}/oauth/`))
})

test('the metadata of a resource is found by its path at the issuer and leads back to the issuer', async () => {
  const resource = await addResource(service, { uri: `${service.issuer}/some/mcp` })
  const response = await oauth.resourceDiscoveryRequest(new URL(resource.uri), INSECURE)
  const metadata = await oauth.processResourceDiscoveryResponse(new URL(resource.uri), response)
  expect(metadata).toMatchObject({
    authorization_servers: [service.issuer],
    scopes_supported: ['mcp:read', 'mcp:write'],
  })
})

for (const kind of KINDS)
  describe(`a client with ${kind.method}`, () => {
    test('gets tokens for a code, and the access token is a valid RFC 9068 token for its resource alone', async () => {
      const { client, user, resource, tokens } = await signedIn(kind)
      expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'mcp:read mcp:write' })
      const claims = await validate(tokens.access_token, resource.uri)
      expect(claims).toMatchObject({ sub: user.id, client_id: client.client_id, scope: 'mcp:read mcp:write' })
      await expect(validate(tokens.access_token, 'https://other.example.com/mcp')).rejects.toMatchObject({
        code: oauth.JWT_CLAIM_COMPARISON,
      })
    })

    test('refreshes, for fewer scopes if it likes', async () => {
      const { client, resource, auth, tokens } = await signedIn(kind)
      const response = await oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token ?? '', {
        ...INSECURE,
        additionalParameters: { scope: 'mcp:read' },
      })
      const next = await oauth.processRefreshTokenResponse(as, client, response)
      expect(next.refresh_token).not.toBe(tokens.refresh_token)
      expect(await validate(next.access_token, resource.uri)).toMatchObject({ scope: 'mcp:read' })
    })

    test('revokes its refresh token, which then gets invalid_grant', async () => {
      const { client, auth, tokens } = await signedIn(kind)
      const token = tokens.refresh_token ?? ''
      await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, auth, token, INSECURE))
      const response = await oauth.refreshTokenGrantRequest(as, client, auth, token, INSECURE)
      await expect(oauth.processRefreshTokenResponse(as, client, response)).rejects.toMatchObject({
        code: oauth.RESPONSE_BODY_ERROR,
        error: 'invalid_grant',
        status: 400,
      })
    })
  })

for (const kind of KINDS.slice(1))
  describe(`a confidential client with ${kind.method}`, () => {
    test('gets a token of its own, sees it as active, revokes it, and sees it as inactive', async () => {
      const { client, resource, auth } = await setUp(kind)
      const grant = { scope: 'mcp:read', resource: resource.uri }
      const answer = await oauth.clientCredentialsGrantRequest(as, client, auth, grant, INSECURE)
      const { access_token, refresh_token } = await oauth.processClientCredentialsResponse(as, client, answer)
      expect(refresh_token).toBeUndefined()
      expect(await validate(access_token, resource.uri)).toMatchObject({ sub: client.client_id, scope: 'mcp:read' })

      const introspect = async () => {
        const response = await oauth.introspectionRequest(as, client, auth, access_token, INSECURE)
        return oauth.processIntrospectionResponse(as, client, response)
      }
      expect(await introspect()).toMatchObject({ active: true, client_id: client.client_id, aud: resource.uri })
      const revoked = await oauth.revocationRequest(as, client, auth, access_token, INSECURE)
      await oauth.processRevocationResponse(revoked)
      expect(await introspect()).toEqual({ active: false })
    })

    test('a wrong secret is refused with invalid_client in a challenge', async () => {
      const { registered, client } = await setUp(kind)
      const wrong = kind.authentication({ ...registered, client_secret: 'wrong' })
      const answer = await oauth.clientCredentialsGrantRequest(as, client, wrong, { scope: 'mcp:read' }, INSECURE)
      expect(answer.status).toBe(401)
      await expect(oauth.processClientCredentialsResponse(as, client, answer)).rejects.toMatchObject({
        code: oauth.WWW_AUTHENTICATE_CHALLENGE,
        cause: [{ scheme: 'basic' }],
      })
    })
  })

describe('the authorization response', () => {
  test('the client refuses a response with the iss or state of another request', async () => {
    const { client, callback, state } = await signedIn(KINDS[0] as Kind)
    for (const name of ['iss', 'state']) {
      const forged = new URL(callback)
      forged.searchParams.set(name, 'https://evil.example')
      expect(() => oauth.validateAuthResponse(as, client, forged, state)).toThrow(oauth.OperationProcessingError)
    }
  })

  test('contains the refusal of the user, with state and iss', async () => {
    const { client, user, resource } = await setUp(KINDS[0] as Kind)
    const challenge = await oauth.calculatePKCECodeChallenge(oauth.generateRandomCodeVerifier())
    const query = new URLSearchParams({
      client_id: client.client_id,
      response_type: 'code',
      scope: 'mcp:read',
      resource: resource.uri,
      state: 'mine',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const callback = await walk(service, `${as.authorization_endpoint}?${query}`, user, undefined, 'deny')
    expect(() => oauth.validateAuthResponse(as, client, callback, 'mine')).toThrow(
      expect.objectContaining({ code: oauth.AUTHORIZATION_RESPONSE_ERROR, error: 'access_denied' }),
    )
  })
})
