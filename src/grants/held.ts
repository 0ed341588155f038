// The rules for what a user has allowed before: an authorization code, a device code or a refresh token.
import type { OAuthError } from '../lib/error.ts'
import { type Identity, identityOf } from '../oauth/openid.ts'
import { accessRules, HELD_DETAILS, SIGN_IN_RESOURCE_KNOWN } from '../oauth/tokens/common_rules.ts'
import type { Authorization } from '../oauth/tokens/issue.ts'
import { refreshedScope } from '../oauth/tokens/requested_scope.ts'
import { remainingScope } from '../oauth/tokens/resource.ts'
import type { GrantFacts, GrantRule } from '../oauth/tokens/rule.ts'
import type { TokenAudience } from '../records/resource.ts'
import type { RequestedSignIn } from '../records/sign_in.ts'
import type { TokenFamily } from '../records/token_family.ts'

/** What a user has allowed, with the state of the user and the consent now. */
export interface Held extends GrantFacts {
  user_status: string | undefined
  consent_revoked: boolean
  /** The scope of the consent now. Undefined if none was stored. */
  consented?: string | undefined
  granted: Pick<TokenFamily, 'scope' | 'asked_scope'>
  sign_in?: RequestedSignIn | undefined
  /** The scope of the token. */
  scope: string
  identity?: Identity | undefined
  /** The audience of a token that is for no resource. */
  audience?: TokenAudience | undefined
  refuse(reason: 'user_inactive' | 'consent_revoked'): OAuthError
}

/** What is decided on a token for what a user has allowed. */
export type Decided = Pick<Authorization, 'resource' | 'scope' | 'authorization_details' | 'about' | 'identity'>

/** The decision of the rules. */
export const decidedOf = (facts: Held): Decided => {
  const { resource, audience, scope, authorization_details, about, identity } = facts
  return { resource: resource ?? audience, scope, authorization_details, about, identity }
}

export const HELD_RULES: readonly GrantRule<Held>[] = [
  {
    name: 'user_active',
    check(_, { user_status, refuse }) {
      if (user_status !== 'active') throw refuse('user_inactive')
    },
  },
  {
    name: 'consent',
    check(_, { consent_revoked, refuse }) {
      if (consent_revoked) throw refuse('consent_revoked')
    },
  },
  SIGN_IN_RESOURCE_KNOWN,
  ...accessRules('invalid_grant'),
  {
    name: 'scope',
    async check(app, facts) {
      const { client, resource, consented, access } = facts
      const wanted = await refreshedScope(app, facts.asked, facts.granted)
      facts.scope = remainingScope(wanted, { config: app.config, client, resource, consented, allowed: access?.scope })
    },
  },
  HELD_DETAILS,
  {
    name: 'openid',
    async check(app, facts) {
      const { scope, sub, user_version, resource, sign_in } = facts
      if (!sign_in) return
      const subject = { scope, sub, user_version, has_resource: resource !== undefined }
      const { identity, audience } = await identityOf(app, sign_in, subject)
      facts.identity = identity
      facts.audience = audience
    },
  },
]
