// Rules between the keys of the login at an upstream OpenID provider.
import { isProduction, type Rule } from './rule.ts'
import type { Config } from './schema.ts'

export const OIDC_RULES: readonly Rule[] = [
  ...(['issuer', 'client_id', 'client_secret', 'redirect_uri'] as const).map((key) => ({
    keys: [`oidc.${key}`],
    bad: (c: Config) => c.oidc.enabled && !c.oidc[key],
    say: 'is required when oidc.enabled is true',
  })),
  ...(['issuer', 'redirect_uri'] as const).map((key) => ({
    keys: [`oidc.${key}`],
    bad: (c: Config) => isProduction(c) && c.oidc.enabled && c.oidc[key] !== '' && !c.oidc[key].startsWith('https:'),
    say: 'must use https when the issuer is not localhost',
  })),
  {
    keys: ['oidc.redirect_uri'],
    bad: (c) => c.oidc.enabled && /[?#]/.test(c.oidc.redirect_uri),
    say: 'must have no query and no fragment',
  },
  {
    keys: ['oidc.connector_id'],
    bad: (c) => c.oidc.enabled && !/^[A-Za-z0-9-]*$/.test(c.oidc.connector_id),
    say: 'must be letters, digits and hyphens',
  },
]
