// oauth4webapi over plain http on loopback, for its tests.
import * as oauth from 'oauth4webapi'
import { REDIRECT_URI } from '../support/service.ts'

export const INSECURE = { [oauth.allowInsecureRequests]: true }

/** The metadata of an issuer, read and checked by the client. */
export async function discover(issuer: string): Promise<oauth.AuthorizationServer> {
  const url = new URL(issuer)
  return oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...INSECURE }))
}

/** An authorization request with PKCE and state; `fields` beside the ones that every request has. */
export async function authorizationRequest(
  as: oauth.AuthorizationServer,
  { client_id }: oauth.Client,
  fields: Record<string, string>,
) {
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
  const url = new URL(as.authorization_endpoint ?? '')
  url.search = new URLSearchParams({
    client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    ...fields,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  return { url: url.href, verifier, state }
}
