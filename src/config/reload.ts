// What a new configuration changes in one that is in use: the live keys change in place, all others wait for a restart.
import { isDeepStrictEqual } from 'node:util'
import { keysOf, putAt, valueAt } from './key.ts'
import { type Config, schema } from './schema.ts'

/** Keys, and groups of keys, that are read at each use, so that a reload can change them. test/server/reload.test.ts checks that no other part keeps their values. */
const LIVE = [
  'admin.sign_in.groups',
  'observability.logging.level',
  'rate_limit',
  'retention',
  'dcr.mode',
  'dcr.approved_redirects',
  'dcr.redirect_schemes',
  'dcr.rate_limit',
  'dcr.rate_limit_burst',
  'dcr.default_refresh_expiry',
  'cimd.enabled',
  'cimd.stale_if_error',
  'cimd.fetch_timeout',
  'cimd.allowed_hosts',
  'cimd.blocked_hosts',
  'clients.approval',
  'session.max_age',
  'oauth.assertion_max_lifetime',
  'oauth.assertion_require_jti',
  'oauth.code_expiry',
  'oauth.max_token_bytes',
  'oauth.require_scope',
  'oauth.require_pushed_requests',
  'oauth.narrow_scopes',
  'client_credentials.enabled',
  'dpop.clock_skew',
  'token_exchange.enabled',
  'token_exchange.allow_self_exchange',
  'token_exchange.max_chain_depth',
  'xaa.max_assertion_age',
  'xaa.subject_mode',
  'xaa.require_resource',
  'xaa.allow_public_clients',
  'connect.allowed_return_urls',
]

/** Whether a reload applies a key. */
export function isReloadable(path: readonly string[]): boolean {
  const name = path.join('.')
  return LIVE.some((live) => name === live || name.startsWith(`${live}.`))
}

/** The keys that differ, in order of declaration. */
export interface Reloaded {
  /** Keys whose new value is in use. */
  applied: string[]
  /** Keys whose new value takes effect at the next start. */
  needs_restart: string[]
}

/** Changes the live keys of `current` to their values in `next`. No rule concerns a live key and one that waits for a restart, so the result is valid. */
export function applyLive(current: Config, next: Config): Reloaded {
  const reloaded: Reloaded = { applied: [], needs_restart: [] }
  for (const { path, key } of keysOf(schema)) {
    const value = valueAt(next, path)
    if (isDeepStrictEqual(valueAt(current, path), value)) continue
    if (isReloadable(path)) putAt(current, path, value, key.secret)
    reloaded[isReloadable(path) ? 'applied' : 'needs_restart'].push(path.join('.'))
  }
  return reloaded
}
