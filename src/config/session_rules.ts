// Rules between the keys of sessions.
import { isProduction, isWeak, type Rule } from './rule.ts'
import { sessionSecrets } from './session_secrets.ts'

export const SESSION_RULES: readonly Rule[] = [
  {
    keys: ['session.secret'],
    bad: (c) => isProduction(c) && !sessionSecrets(c),
    message: 'is required when the issuer is not localhost',
  },
  {
    keys: ['session.secret'],
    bad: (c) => isProduction(c) && isWeak(c.session.secret),
    message: 'is a well-known value, or has fewer than five different characters; use 32 random bytes',
  },
  {
    keys: ['session.secrets'],
    bad: (c) => isProduction(c) && c.session.secrets.some(isWeak),
    message: 'contains a well-known value, or one that has fewer than five different characters; use 32 random bytes',
  },
  {
    keys: ['session.secret', 'session.secrets'],
    bad: (c) => c.session.secret !== '' && c.session.secrets.length > 0,
    message: 'are mutually exclusive: write every secret into session.secrets',
  },
  {
    keys: ['session.secure'],
    bad: (c) => isProduction(c) && !c.session.secure,
    message: 'must be true when the issuer is not localhost',
  },
  {
    keys: ['session.same_site', 'session.secure'],
    bad: (c) => c.session.same_site === 'none' && !c.session.secure,
    message: 'same_site none needs secure',
  },
  {
    keys: ['session.cookie_name'],
    bad: (c) => !/^[A-Za-z0-9_-]+$/.test(c.session.cookie_name),
    message: 'must be letters, digits, _ and -',
  },
]
