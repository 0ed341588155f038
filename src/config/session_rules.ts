// Rules between the keys of sessions.
import { inProduction, isProduction, isWeak, type Rule, rule } from './rule.ts'
import { sessionSecrets } from './session_secrets.ts'

export const SESSION_RULES: readonly Rule[] = [
  inProduction('session.secret', 'is required', (c) => !sessionSecrets(c)),
  rule(
    'session.secret',
    'is a well-known value, or has fewer than five different characters; use 32 random bytes',
    (c) => isProduction(c) && isWeak(c.session.secret),
  ),
  rule(
    'session.secrets',
    'contains a well-known value, or one that has fewer than five different characters; use 32 random bytes',
    (c) => isProduction(c) && c.session.secrets.some(isWeak),
  ),
  rule(
    ['session.secret', 'session.secrets'],
    'are mutually exclusive: write every secret into session.secrets',
    (c) => c.session.secret !== '' && c.session.secrets.length > 0,
  ),
  inProduction('session.secure', 'must be true', (c) => !c.session.secure),
  rule(
    ['session.same_site', 'session.secure'],
    'same_site none needs secure',
    (c) => c.session.same_site === 'none' && !c.session.secure,
  ),
  rule(
    'session.cookie_name',
    'must be letters, digits, _ and -',
    (c) => !/^[A-Za-z0-9_-]+$/.test(c.session.cookie_name),
  ),
]
