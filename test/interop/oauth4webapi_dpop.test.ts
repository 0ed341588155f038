// A strict third-party client with DPoP: it makes the proofs, and retries with the nonce when one is required.
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { walk } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { authorizationRequest, discover, INSECURE } from './strict_client.ts'

describe.each([
  ['no nonces', false],
  ['nonces', true],
])('a service that asks for %s', (_what, asksForNonce) => {
  let service: TestService
  let as: oauth.AuthorizationServer
  beforeAll(async () => {
    service = await startService({ SERVICE_DPOP_REQUIRE_NONCE: String(asksForNonce) })
    as = await discover(service.issuer)
  })
  afterAll(() => service.close())

  /** Sends a request, and repeats it when the answer requires a nonce. Returns the result and the number of requests. */
  async function withRetry<T>(send: () => Promise<Response>, read: (response: Response) => Promise<T>) {
    try {
      return { result: await read(await send()), sent: 1 }
    } catch (error) {
      if (!oauth.isDPoPNonceError(error)) throw error
      return { result: await read(await send()), sent: 2 }
    }
  }

  /** A client with a key of its own. */
  async function setUp(method: string, alg = 'ES256') {
    const registered = await addClient(service, { token_endpoint_auth_method: method })
    const [user, resource] = [await addUser(service), await addResource(service)]
    const client: oauth.Client = { client_id: registered.client_id }
    const auth = method === 'none' ? oauth.None() : oauth.ClientSecretBasic(registered.client_secret)
    const pair = await oauth.generateKeyPair(alg)
    return { client, user, resource, auth, pair, DPoP: oauth.DPoP(client, pair) }
  }

  /** The flow of a user, with a code that is bound to the key. */
  async function signedIn(method: string) {
    const parts = await setUp(method)
    const { client, user, resource, auth, DPoP } = parts
    const { url, verifier, state } = await authorizationRequest(as, client, {
      scope: 'mcp:read',
      resource: resource.uri,
      dpop_jkt: await DPoP.calculateThumbprint(),
    })
    const parameters = oauth.validateAuthResponse(as, client, await walk(service, url, user), state)
    const { result: tokens, sent } = await withRetry(
      () =>
        oauth.authorizationCodeGrantRequest(as, client, auth, parameters, REDIRECT_URI, verifier, {
          ...INSECURE,
          DPoP,
        }),
      (response) => oauth.processAuthorizationCodeResponse(as, client, response),
    )
    return { ...parts, tokens, sent }
  }

  /** Validates a token as a resource server would, with a proof for this request. */
  async function validate(
    token: string,
    { pair, client }: { pair: oauth.CryptoKeyPair; client: oauth.Client },
    audience: string,
  ) {
    let request = new Request(audience)
    const DPoP = oauth.DPoP(client, pair)
    await oauth.protectedResourceRequest(token, 'GET', new URL(audience), new Headers(), null, {
      DPoP,
      [oauth.customFetch]: async (url, options) => {
        request = new Request(url, { method: options.method, headers: options.headers })
        return new Response()
      },
    })
    return oauth.validateJwtAccessToken(as, request, audience, { ...INSECURE, requireDPoP: true })
  }

  test.each(['none', 'client_secret_basic'])(
    'issues bound tokens to a %s client for a code that is bound to its key',
    async (method) => {
      const parts = await signedIn(method)
      expect(parts.sent).toBe(asksForNonce ? 2 : 1)
      expect(parts.tokens.token_type).toBe('dpop')
      const claims = await validate(parts.tokens.access_token, parts, parts.resource.uri)
      expect(claims.cnf).toEqual({ jkt: await parts.DPoP.calculateThumbprint() })
    },
  )

  test('the refresh uses the nonce of the last answer, without another challenge', async () => {
    const parts = await signedIn('none')
    const { client, auth, DPoP, resource } = parts
    let tokens = parts.tokens
    for (let i = 0; i < 3; i++) {
      const { result, sent } = await withRetry(
        () => oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token ?? '', { ...INSECURE, DPoP }),
        (response) => oauth.processRefreshTokenResponse(as, client, response),
      )
      expect(sent).toBe(1)
      expect(result.token_type).toBe('dpop')
      await validate(result.access_token, parts, resource.uri)
      tokens = result
    }
  })

  test('the refresh token is refused with another key, and stays valid for the right one', async () => {
    const { client, auth, DPoP, tokens } = await signedIn('none')
    const refresh = (handle: oauth.DPoPHandle) =>
      withRetry(
        () =>
          oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token ?? '', { ...INSECURE, DPoP: handle }),
        (response) => oauth.processRefreshTokenResponse(as, client, response),
      )
    await expect(refresh(oauth.DPoP(client, await oauth.generateKeyPair('ES256')))).rejects.toMatchObject({
      code: oauth.WWW_AUTHENTICATE_CHALLENGE,
      status: 400,
      cause: [{ scheme: 'dpop', parameters: { error: 'invalid_dpop_proof' } }],
    })
    expect((await refresh(DPoP)).result.token_type).toBe('dpop')
  })

  test.each(['ES256', 'RS256', 'PS256'])('accepts proofs with %s', async (alg) => {
    const parts = await setUp('client_secret_basic', alg)
    const { client, auth, DPoP, resource } = parts
    const grant = { scope: 'mcp:read', resource: resource.uri }
    const { result } = await withRetry(
      () => oauth.clientCredentialsGrantRequest(as, client, auth, grant, { ...INSECURE, DPoP }),
      (response) => oauth.processClientCredentialsResponse(as, client, response),
    )
    expect(result.token_type).toBe('dpop')
    const claims = await validate(result.access_token, parts, resource.uri)
    expect(claims).toMatchObject({ sub: client.client_id, cnf: { jkt: await DPoP.calculateThumbprint() } })
  })
})
