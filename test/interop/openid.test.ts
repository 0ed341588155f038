// OpenID clients of other projects against the OpenID provider, used as their documentation says.
import { OpenIdProviderDiscoveryMetadataSchema } from '@modelcontextprotocol/sdk/shared/auth.js'
import * as oauth from 'oauth4webapi'
import * as client from 'openid-client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Browser } from '../support/browser.ts'
import { walk } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { comeIn, GENERATIONS, type Generation, Provider } from './mcp_client.ts'
import { startMcpServer } from './mcp_server.ts'
import { authorizationRequest, INSECURE } from './strict_client.ts'

const AFTER = 'https://client.example.com/signed-out'
const SCOPE = 'openid profile email offline_access'
let service: TestService
beforeAll(async () => {
  service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
})
afterAll(() => service.close())

const anApp = () => addClient(service, { scope: SCOPE, post_logout_redirect_uris: [AFTER] })

test('openid-client signs a user in, reads userinfo, refreshes and signs out', async () => {
  const [app, user, browser] = [await anApp(), await addUser(service), new Browser()]
  const insecure = { execute: [client.allowInsecureRequests] }
  const config = await client.discovery(new URL(service.issuer), app.client_id, app.client_secret, undefined, insecure)
  const [verifier, nonce, state] = [client.randomPKCECodeVerifier(), client.randomNonce(), client.randomState()]
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    nonce,
    state,
    max_age: '300',
  })
  const callback = await walk(service, url.href, user, browser)
  const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state, maxAge: 300 }
  const tokens = await client.authorizationCodeGrant(config, callback, { ...checks, idTokenExpected: true })
  expect(tokens.claims()).toMatchObject({ sub: user.id, nonce, name: user.name })
  const about = await client.fetchUserInfo(config, tokens.access_token, user.id)
  expect(about).toMatchObject({ sub: user.id, name: user.name, email: user.email, email_verified: true })
  const next = await client.refreshTokenGrant(config, tokens.refresh_token ?? '')
  expect(next.claims()).toMatchObject({ sub: user.id, auth_time: tokens.claims()?.auth_time })
  const logout = client.buildEndSessionUrl(config, {
    id_token_hint: next.id_token ?? '',
    post_logout_redirect_uri: AFTER,
    state,
  })
  expect((await browser.open(logout.href)).location).toBe(`${AFTER}?state=${state}`)
})

test('oauth4webapi accepts the discovery document, the ID token and the userinfo answer, with DPoP', async () => {
  const [app, user] = [await anApp(), await addUser(service)]
  const issuer = new URL(service.issuer)
  const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, INSECURE))
  const known: oauth.Client = { client_id: app.client_id, require_auth_time: true }
  const [nonce, DPoP] = [oauth.generateRandomNonce(), oauth.DPoP(known, await oauth.generateKeyPair('ES256'))]
  const { url, verifier, state } = await authorizationRequest(as, known, { scope: SCOPE, nonce })
  const callback = await walk(service, url, user)
  const auth = oauth.ClientSecretBasic(app.client_secret)
  const parameters = oauth.validateAuthResponse(as, known, callback, state)
  const options = { DPoP, ...INSECURE }
  const response = await oauth.authorizationCodeGrantRequest(
    as,
    known,
    auth,
    parameters,
    REDIRECT_URI,
    verifier,
    options,
  )
  const expected = { expectedNonce: nonce, requireIdToken: true }
  const tokens = await oauth.processAuthorizationCodeResponse(as, known, response, expected)
  await oauth.validateApplicationLevelSignature(as, response, INSECURE)
  expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: user.id, nonce })
  const asked = await oauth.userInfoRequest(as, known, tokens.access_token, options)
  expect(await oauth.processUserInfoResponse(as, known, user.id, asked)).toMatchObject({ email: user.email })
})

test('the discovery document parses under the OpenID schema of the official MCP client', async () => {
  const document = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json()
  expect(OpenIdProviderDiscoveryMetadataSchema.parse(document)).toMatchObject({
    userinfo_endpoint: `${service.issuer}/oauth/userinfo`,
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
  })
})

// The 1.x client asks for neither.
test('the official MCP client asks for offline_access with prompt=consent, and the user sees one consent page', async () => {
  const [generation] = GENERATIONS as [Generation]
  const server = await startMcpServer(service)
  await addResource(service, { uri: server.uri })
  const [app, user, browser] = [await addClient(service, { scope: undefined }), await addUser(service), new Browser()]
  const connection = await comeIn(generation, service, server.uri, new Provider(app, service.issuer), user, browser)
  await connection.close()
  const again = new Provider(app, service.issuer)
  const second = generation.connect(server.uri, again)
  await expect(second.open()).rejects.toThrow(generation.Unauthorized)
  const { searchParams } = again.saved.url ?? new URL(service.issuer)
  expect([searchParams.get('prompt'), searchParams.get('scope')]).toEqual(['consent', 'mcp:read offline_access'])
  // No page between: the answer to the request is the code.
  const { location = '' } = await browser.open(String(again.saved.url))
  await second.finish(new URL(location))
  const third = generation.connect(server.uri, again)
  await third.open()
  expect(await third.call('whoami')).toBe(`${user.id} may mcp:read offline_access`)
  await third.close()
  server.close()
})
