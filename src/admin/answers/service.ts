// Schemas of the answers about the service itself and of the trial operations, as in answers.ts.
import { z } from 'zod'
import { CAPABILITIES, KEY_CAPABILITIES } from '../../records/api_key.ts'
import { own, ownRecord } from './own_words.ts'
import { sentValue } from './parts.ts'

const at = z.iso.datetime()
const count = z.int()
const counts = ownRecord(z.number())

/** A published signing key. */
export const key = z.strictObject({
  kid: z.string(),
  alg: z.string(),
  use: z.enum(['sig']),
  signs: z.enum(['tokens', 'id_tokens']).describe('id_tokens: only ID tokens and logout tokens.'),
  status: z.enum(['current', 'previous', 'next']),
  created_at: at,
  remove_at: at.optional(),
})
export const keysAnswer = z.strictObject({
  keys: z.array(key),
  current_kid: z.string(),
  previous_kid: z.string().optional(),
})
export const rotated = z.strictObject({
  current_kid: z.string(),
  previous_kid: z.string().optional(),
  rotated_at: at,
  warning: z.string().optional(),
})
export const revokedKey = z.strictObject({
  dry_run: z.boolean(),
  kid: z.string(),
  current_kid: z.string(),
  tokens: count,
  clients: count,
})
export const dcrMode = z.strictObject({ mode: z.enum(['open', 'approved_redirects', 'admin_only']) })

const purgeRun = z.strictObject({
  target: own(),
  started_at: at,
  finished_at: at,
  deleted: count,
  ok: z.boolean(),
})
/** Something that needs a person, or may soon. */
export const attention = z.strictObject({
  kind: z.enum([
    'part',
    'provider',
    'receiver',
    'client',
    'client_requests',
    'document',
    'lockouts',
    'purge',
    'backup',
    'certificate',
    'setting',
    'instances',
    'database',
    'unknown',
  ]),
  severity: z.enum(['bad', 'warn']),
  text: z.string(),
  page: z.string().describe('Path of its page below /admin/ui/.'),
  since: at.optional(),
})
/** An unsafe setting. bad: it must be corrected now. warn: it should be reviewed. */
export const concern = z.strictObject({
  key: own(),
  severity: z.enum(['bad', 'warn']),
  because: own(),
  instead: own(),
})
const upstreamProvider = z.strictObject({
  slug: z.string().describe('Its slug. Its name, when its assertions are accepted.'),
  id: own().optional().describe('Its id, when its assertions are accepted.'),
  use: z.enum(['sign_in', 'assertions', 'connections']),
  issuer: z.string().optional().describe('Issuer of the configuration.'),
  issuer_found: z.string().optional().describe('Issuer in the metadata of the provider.'),
  usable: z
    .boolean()
    .optional()
    .describe('Whether its metadata and keys could be fetched and match the configuration.'),
  keys: count.optional().describe('Number of keys that it publishes.'),
  reason: z.string().optional().describe('Why it cannot be used.'),
  since: at.optional().describe('Time of the first fetch of its keys that failed since the last one that succeeded.'),
  last_failure: z
    .strictObject({
      at,
      request_id: own(),
      reason: z.string(),
      expected: z.string().optional(),
      found: z.string().optional(),
    })
    .optional()
    .describe('The last failed sign-in or connection of the last 30 days.'),
  scim: z
    .strictObject({
      keys: z.array(z.string()).describe('Names of its SCIM keys.'),
      people: count,
      groups: count,
      last_call_at: at.optional().describe('Time of the last request, at most 15 seconds late.'),
      last_error: z.string().optional().describe('Status and reason of the last refused request.'),
      last_error_at: at.optional(),
    })
    .optional()
    .describe('What the provider manages over SCIM. Absent without a SCIM key.'),
})
const headroom = z.strictObject({
  requests_per_s: z.number(),
  parts: counts,
  busiest: own().optional(),
  ceiling_per_s: z.number().optional(),
  use: z.number().optional(),
  source: z.enum(['report', 'traffic', 'none']),
  measured_at: at.optional(),
  measured_use: z.number().optional(),
})
export const systemStatus = z.strictObject({
  version: own(),
  commit: own(),
  built_at: own(),
  uptime: own(),
  uptime_secs: count,
  attention: z
    .array(attention)
    .describe('What needs a person now, what is worst first. A state that cannot be read is an entry of its own.'),
  subsystems: z.array(
    z.strictObject({
      name: own(),
      status: z.enum(['healthy', 'unhealthy', 'unknown', 'not_configured']),
      driver: own(),
    }),
  ),
  features: ownRecord(z.boolean()),
  engines: ownRecord(own()),
  lanes: ownRecord(counts),
  front_threads: z
    .array(z.strictObject({ thread: count, requests: count, busy: z.number() }))
    .optional()
    .describe(
      'With several front threads: the requests that each answered, and the share of the last second in which it was busy.',
    ),
  purges: z.array(purgeRun).describe('Last run of each target of `service purge`.'),
  headroom,
  lockouts: count
    .optional()
    .describe(
      'Addresses that are locked out now, and accounts whose logins wait. Absent while the database is unavailable.',
    ),
  instances: count.describe('Instances that share the database, this one included.'),
  storage: z.strictObject({ bytes: z.number().optional() }).optional(),
  concerns: z.array(concern).optional().describe('Unsafe settings of the running service.'),
  providers: z
    .array(upstreamProvider)
    .optional()
    .describe(
      'Upstream providers: those that users sign in at, those whose assertions are accepted, and those of broker resources.',
    ),
})
export const configuration = z.record(z.string(), z.unknown())
export const reloaded = z.strictObject({
  applied: z.array(z.string()).describe('Changed keys whose new value is in use.'),
  needs_restart: z.array(z.string()).describe('Changed keys whose new value takes effect at the next start.'),
})
export const stats = z.strictObject({
  clients: count,
  users: count,
  active_tokens_24h: count,
  revoked_tokens: count,
  connections: count,
})
export const series = z.strictObject({
  period: count,
  points: z.array(
    z.strictObject({
      at,
      tokens: counts,
      answers: count,
      p50: z.number().optional(),
      p99: z.number().optional(),
      errors: counts,
      queues: counts,
    }),
  ),
})
const capability = z.enum(CAPABILITIES)
export const verified = z.strictObject({
  valid: z.literal(true),
  version: z.string(),
  actor_id: z.string(),
  capability,
})
export const apiKey = z.strictObject({
  id: z.string(),
  name: z.string(),
  capability: z.enum(KEY_CAPABILITIES),
  provider: z.string().optional().describe('Provider of a SCIM key.'),
  created_at: at,
  last_used_at: at.optional().describe('Time of the last use, at most 15 seconds late. Absent while it was not used.'),
})
export const newApiKeyAnswer = apiKey.extend({ key: z.string().describe('The key. It is shown only here.') })
export const openApi = z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) })

const members = z.record(z.string(), z.unknown())
const refusal = z.strictObject({
  status: count,
  error: own(),
  error_description: z.string(),
  reason: own().describe('Reason that the caller does not see.'),
  ...sentValue,
})
const tokenResponse = z.strictObject({
  access_token: z.string(),
  token_type: z.enum(['Bearer', 'DPoP']),
  expires_in: count,
  scope: z.string().optional(),
})
export const triedToken = z.strictObject({
  granted: z.boolean(),
  response: tokenResponse.optional(),
  refusal: refusal.optional(),
})
export const explained = z.strictObject({
  ok: z.boolean().describe('Whether a token would be issued.'),
  steps: z.array(
    z.strictObject({
      rule: own(),
      outcome: z.enum(['passed', 'failed', 'not_reached']),
      where: z.string().describe('Where the rule is set.'),
      change: z.string().describe('How to change it.'),
    }),
  ),
  claims: members
    .optional()
    .describe('Claims of the token, without its id. Absent when none of this service would be issued.'),
  id_token: members
    .optional()
    .describe(
      'Claims of the ID token after a sign-in now, without at_hash and nonce. Absent when no ID token would be issued.',
    ),
  refusal: refusal.optional(),
})
export const examined = z.strictObject({
  form: z.enum(['jwt', 'opaque']),
  header: members.optional(),
  claims: members.optional(),
  ours: z.boolean(),
  signature: z.enum(['valid', 'invalid', 'unknown_key']).optional(),
  expired: z.boolean().optional(),
  revoked: z.boolean().optional(),
  active: z.boolean(),
  issuance_id: own().optional(),
  kind: z.enum(['refresh_token', 'api_key']).optional().describe('What an opaque value of this service is.'),
  family_id: own().optional().describe('The sign-in that a refresh token belongs to.'),
  api_key_id: own().optional(),
  client_id: z.string().optional(),
  user_id: own().optional(),
})
export const checkedAssertion = z.strictObject({
  ok: z.boolean(),
  steps: z.array(
    z.strictObject({
      check: z.string(),
      about: z.string(),
      result: z.enum(['passed', 'failed', 'not_reached']),
    }),
  ),
  granted: z.strictObject({ sub: z.string(), scope: z.string(), resource: z.string().optional() }).optional(),
  needs_dpop: z.boolean().optional(),
  refusal: refusal.optional(),
  header: members.optional(),
  claims: members.optional(),
})
