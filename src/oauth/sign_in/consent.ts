// What a consent of a user to a client at a resource covers: scopes, and the redirect hosts that the consent page showed.
import { isLoopbackHost } from '../../lib/url.ts'
import { type Consent, USERINFO_CONSENT } from '../../records/consent.ts'
import type { Resource } from '../../records/resource.ts'
import { placeOf } from '../clients/redirect_uri.ts'
import { isSignIn } from '../openid.ts'
import { scopeNames } from '../tokens/resource.ts'

/** Maximum number of redirect hosts that a consent stores. The ones that were shown last are kept. */
const MAX_HOSTS = 20

/** The host of a redirect URI as a consent stores it. A native client uses another port of this machine each time (RFC 8252 §7.3). */
function hostOf(redirect_uri: string): string {
  const { hostname } = new URL(redirect_uri)
  return isLoopbackHost(hostname) ? hostname : placeOf(redirect_uri)
}

/**
 * Whether the user has allowed these scopes for this redirect URI, and has withdrawn none of them. A request without
 * scopes, at a resource that declares none, is for all of the resource: a consent to some scopes does not cover it.
 */
export function covers(consent: Consent, scope: readonly string[], redirect_uri: string): boolean {
  const here = consent.redirect_hosts[hostOf(redirect_uri)]
  if (scope.length === 0) return here === ''
  const now = scopeNames(consent.scope)
  const shown = scopeNames(here ?? '')
  return scope.every((name) => now.includes(name) && shown.includes(name))
}

/** What a consent is for: a resource, or the sign-in alone. Undefined where no consent is stored. */
export const consentedTo = (resource: Pick<Resource, 'id'> | undefined, scope: readonly string[]): string | undefined =>
  resource?.id ?? (isSignIn(scope) ? USERINFO_CONSENT : undefined)

/** A decision of the user: the requested scopes, the approved ones, and the redirect URI of the request. */
interface Decision {
  asked: readonly string[]
  approved: readonly string[]
  redirect_uri: string
}
/**
 * The consent after a decision. Requested scopes are as decided now; other scopes of the consent do not change. A decision about a
 * resource without scopes replaces everything that was allowed there.
 */
export function decided(
  before: Consent | undefined,
  { asked, approved, redirect_uri }: Decision,
): Pick<Consent, 'scope' | 'redirect_hosts'> {
  const isKept = (name: string) => asked.length > 0 && !asked.includes(name)
  const withApproved = (scope = '') => [...scopeNames(scope).filter(isKept), ...approved].join(' ')
  const hosts = before?.redirect_hosts ?? {}
  // A device has no redirect URI: its consent is for no host, so that it never answers an authorization request.
  if (redirect_uri === '') return { scope: withApproved(before?.scope), redirect_hosts: hosts }
  const { [hostOf(redirect_uri)]: here, ...others } = hosts
  const kept = Object.entries(others).slice(1 - MAX_HOSTS)
  return {
    scope: withApproved(before?.scope),
    redirect_hosts: { ...Object.fromEntries(kept), [hostOf(redirect_uri)]: withApproved(here) },
  }
}
