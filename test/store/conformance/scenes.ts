// Moments that the rules begin in.
import { newBearer, newId } from '../../../src/lib/id.ts'
import type { AuthorizationRequest } from '../../../src/records/authorization_request.ts'
import type { Issuance } from '../../../src/records/issuance.ts'
import type { RefreshToken, TokenFamily } from '../../../src/records/token_family.ts'
import type { User } from '../../../src/records/user.ts'
import type { Store } from '../../../src/store/index.ts'
import { aFamily, aRefreshToken, aRequest, aUser, issuanceOf, NOW } from '../../support/records.ts'

export interface Scene {
  user: User
  request: AuthorizationRequest
  consent: {
    id: string
    user_id: string
    client_id: string
    resource_id: string
    scope: string
    redirect_hosts: Record<string, string>
  }
}

/** A user whose request was approved: there is a code, and a consent. */
export async function approved(store: Store, more: Partial<AuthorizationRequest> = {}): Promise<Scene> {
  const user = aUser()
  await store.createUser(user)
  const request = aRequest({ user_id: user.id, ...more })
  await store.createAuthorizationRequest(request)
  const { client_id, scope } = request
  const redirect_hosts = { 'client.example.com': scope }
  const consent = { id: newId(), user_id: user.id, client_id, resource_id: newId(), scope, redirect_hosts }
  await store.approveAuthorizationRequest({
    id: request.id,
    session_id: request.session_id,
    scope,
    code_hash: newBearer('ac').hash,
    code_expires_at: NOW + 60,
    consent,
    now: NOW,
  })
  return { user, request, consent }
}

export interface SignedIn extends Scene {
  family: TokenFamily
  refresh: RefreshToken
  issuance: Issuance
}

/** What the redemption of a code would record. */
export function redemption({ request, consent }: Scene): Pick<SignedIn, 'family' | 'refresh' | 'issuance'> {
  const family = aFamily({
    client_id: request.client_id,
    user_id: request.user_id,
    authorization_id: request.id,
    consent_id: consent.id,
  })
  return { family, refresh: aRefreshToken(family), issuance: issuanceOf(family) }
}

/** A user whose client has redeemed its code: there is a family with a refresh token and an access token. */
export async function signedIn(store: Store): Promise<SignedIn> {
  const scene = await approved(store)
  const redeemed = redemption(scene)
  await store.redeemCode({ ...redeemed, now: NOW })
  return { ...scene, ...redeemed }
}
