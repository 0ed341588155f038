// Admin operations on the service itself: signing keys, registration mode, status, configuration.
import { z } from 'zod'
import { DCR_MODES } from '../config/oauth_keys.ts'
import type { App } from '../context.ts'
import { JWKS_MAX_AGE_SECONDS } from '../crypto/keyring.ts'
import { revokeKey } from '../events/key_revocation.ts'
import { grants } from '../grants/index.ts'
import { time, word } from '../lib/field.ts'
import { dated, formatDuration, rfc3339 } from '../lib/time.ts'
import { dcrModeSetting, effectiveDcrMode } from '../oauth/clients/registration_mode.ts'
import { allLanes, mapValues } from '../telemetry/lanes.ts'
import { PERIOD } from '../telemetry/series.ts'
import { type AdminResource, action, type Recorder } from './action.ts'
import * as answers from './answers/service.ts'
import { attentionOf } from './attention.ts'
import { notFound } from './outcome.ts'
import { concernsOf } from './posture.ts'
import { providerStates } from './resources/provider_status.ts'
import { dryRun, revokeFitting } from './revocations.ts'
import { statsOf } from './stats.ts'
import { timeFlag } from './time_flags.ts'

export const keys: AdminResource = {
  name: 'key',
  doc: 'Signing keys.',
  actions: {
    list: action('GET /admin/keys', {
      doc: 'Lists the published keys: the current key, former keys whose tokens may still be live, and the next key, which the next rotation makes current; with `oauth.openid` the same for the keys of ID tokens, once one was needed.',
      answer: answers.keysAnswer,
      cli: { rows: 'keys' },
      tool: { name: 'signing_keys', title: 'Signing keys', rows: 'keys' },
      async run({ keyring }) {
        // Rejects when no key exists, because an empty list would hide a wrong signing.key_path.
        keyring.current()
        const published = keyring.published()
        const signing = published.filter(({ next }) => !next)
        const [current_kid, previous_kid] = signing.filter(({ isIdToken }) => !isIdToken).map(({ kid }) => kid)
        const idTokenKid = signing.find(({ isIdToken }) => isIdToken)?.kid
        const shown = published.map(({ kid, alg, created_at, next, remove_at, isIdToken }) => {
          const status = next ? 'next' : kid === current_kid || kid === idTokenKid ? 'current' : 'previous'
          const signs = isIdToken ? 'id_tokens' : 'tokens'
          return dated({ kid, alg, use: 'sig', status, signs, created_at, remove_at })
        })
        return { shown: { keys: shown, current_kid, previous_kid } }
      },
    }),
    rotate: action('POST /admin/keys/rotate', {
      doc: 'Makes the next key current and publishes a new next key, also for ID tokens. The previous key stays published until its tokens have expired.',
      answer: answers.rotated,
      needs: 'admin',
      audit: 'key_rotated',
      count: ['core_key_rotation_total'],
      async run({ keyring }) {
        const { current_kid, previous_kid, rotated_at } = await keyring.rotate()
        const age = rotated_at - (keyring.find(current_kid)?.created_at ?? rotated_at)
        const warning =
          age < JWKS_MAX_AGE_SECONDS
            ? `this key was published only ${age} seconds ago; resource servers keep the JWKS for up to ${JWKS_MAX_AGE_SECONDS} seconds, and one that does not fetch it again at once refuses new tokens until then`
            : undefined
        return {
          shown: { current_kid, previous_kid, rotated_at: rfc3339(rotated_at), ...(warning ? { warning } : {}) },
          noted: { detail: { current_kid, previous_kid } },
        }
      },
    }),
    revoke: action('POST /admin/keys/{kid}/revoke', {
      doc: 'Removes a compromised key from the JWKS at once and revokes the tokens that it signed. If it was current, the next key becomes current. Resource servers may cache the JWKS for some minutes.',
      answer: answers.revokedKey,
      body: z.strictObject({ dry_run: dryRun }),
      needs: 'admin',
      long: true,
      tool: {
        name: 'revoke_signing_key',
        title: 'Revoke a signing key',
        destructive: true,
        params: { kid: { name: 'kid', doc: 'Id of the key, from signing_keys or the header of a token.' } },
      },
      audit: 'key_revoked',
      async run(app, { params: { kid }, body: { dry_run } }, by) {
        const { keyring, store } = app
        if (!keyring.published().some((key) => key.kid === kid)) throw notFound('key')
        // The key is removed first, so that no token is signed with it after the count.
        const event = dry_run ? undefined : await revokeKey(app, { kid, event: by.event({ detail: { kid } }) })
        const { tokens, clients } = await revokeFitting(app, { kid }, { dry_run, onProgress: by.onProgress })
        const detail = { kid, current_kid: keyring.current().kid, tokens, clients }
        if (!event) return { shown: { dry_run, ...detail } }
        await store.completeAudit({ id: event.id, detail })
        return { shown: { dry_run, ...detail } }
      },
    }),
  },
}

const mode = word(DCR_MODES).describe('Who may register clients.')
const setMode = {
  doc: 'Sets who may register clients. The setting takes effect at once, is stored, and takes precedence over dcr.mode of the configuration.',
  answer: answers.dcrMode,
  body: z.object({ mode }),
  needs: 'admin',
  audit: 'dcr_mode_updated',
} as const

export const dcr: AdminResource = {
  name: 'dcr',
  doc: 'Dynamic client registration.',
  actions: {
    get: action('GET /admin/settings/dcr', {
      doc: 'Shows who may register clients.',
      answer: answers.dcrMode,
      run: async (app) => ({ shown: { mode: await effectiveDcrMode(app) } }),
    }),
    set: action('PATCH /admin/settings/dcr', {
      ...setMode,
      tool: { name: 'set_registration_mode', title: 'Set who may register clients' },
      run: (app, { body }, by) => changeMode(app, body.mode, by),
    }),
    replace: action('PUT /admin/settings/dcr', {
      ...setMode,
      cli: false,
      run: (app, { body }, by) => changeMode(app, body.mode, by),
    }),
  },
}

async function changeMode(app: App, mode: z.output<typeof setMode.body>['mode'], by: Recorder) {
  const before = await effectiveDcrMode(app)
  const setting = dcrModeSetting(app, mode)
  // Also the mode in force is stored, so that it stays when the configuration changes.
  if (mode === before) await app.store.saveSetting(setting)
  else await by.record('saveSetting', setting, { detail: { mode, before } })
  return { shown: { mode } }
}

export const system: AdminResource = {
  name: 'system',
  doc: 'The running service.',
  actions: {
    status: action('GET /admin/system/status', {
      doc: 'Shows version, uptime, components, features, HTTP engines, queues, headroom, storage, lockouts, instances, unsafe settings and upstream providers.',
      answer: answers.systemStatus,
      cli: { command: 'status' },
      tool: { name: 'status', title: 'State of the service', reasons: true },
      run: async (app) => ({ shown: await statusOf(app) }),
    }),
    stats: action('GET /admin/stats', {
      doc: 'Counts clients, users and connections, and the tokens of the last 24 hours that are live or revoked.',
      answer: answers.stats,
      cli: { command: 'stats' },
      run: async (app) => ({ shown: await statsOf(app) }),
    }),
    series: action('GET /admin/stats/series', {
      doc: 'Shows the last hour in periods of 10 seconds, oldest first: tokens by grant, answers of the token endpoint and their p50 and p99 in seconds, refusals by reason, and the maximum length of each queue. The figures are from the memory of this process.',
      answer: answers.series,
      cli: {
        command: 'series',
        rows: 'points',
        flags: { since: timeFlag('since', 'Only periods that began at or after this time.') },
      },
      query: z.strictObject({
        since: time().optional().describe('Only periods that began at or after this time.'),
      }),
      run: async ({ series }, { query: { since } }) => ({
        shown: {
          period: PERIOD,
          points: series.points(since).map(dated),
        },
      }),
    }),
    verify: action('POST /admin/auth/verify', {
      doc: 'Confirms that the API key is valid, and shows its name and capability.',
      answer: answers.verified,
      needs: 'viewer',
      audit: 'admin_ui_login',
      cli: false,
      run: async ({ build }, _input, { actor_id, capability }) => ({
        shown: { valid: true, version: build.version, actor_id, capability },
        noted: { detail: {} },
      }),
    }),
  },
}

const encryptionState = ({ atRest }: App) =>
  !atRest ? 'not_configured' : atRest.isUnavailable ? 'unhealthy' : 'healthy'

/** The state of every part of the service, and what needs a person. */
export async function statusOf(app: App) {
  const { config, clock, startedAt, build, store, keyring, engines, headroom } = app
  const uptime_secs = clock.now() - startedAt
  const healthy = store.driver.isHealthy() && (await store.readHealth().catch(() => false))
  const purges = await store.listPurgeRuns().catch(() => undefined)
  const encryption = config.data_encryption.driver
  const subsystems = [
    { name: 'storage', status: healthy ? 'healthy' : 'unhealthy', driver: store.driver.name },
    { name: 'signing', status: keyring.remote?.isUnavailable ? 'unhealthy' : 'healthy', driver: keyring.store },
    { name: 'encryption', status: encryptionState(app), driver: encryption },
  ]
  const [lockouts, concerns, providers] = await Promise.all([
    store.countLockouts({ now: clock.now() }).catch(() => undefined),
    concernsOf(app).catch(() => undefined),
    providerStates(app).catch(() => undefined),
  ])
  return {
    ...build,
    uptime: formatDuration(uptime_secs),
    uptime_secs,
    attention: await attentionOf(app, { subsystems, lockouts, concerns, providers, purges }),
    subsystems,
    features: {
      ...grantFeatures(config),
      dpop: config.dpop.enabled,
      oidc: app.oidc.length > 0,
      rate_limit: config.rate_limit.enabled,
    },
    engines,
    lanes: mapValues(allLanes(app), (stats) => ({ ...stats, busy_ms: Number(stats.busy_ms.toFixed(1)) })),
    ...(app.frontPool
      ? { front_threads: app.frontPool.reports().map(({ thread, requests, busy }) => ({ thread, requests, busy })) }
      : {}),
    purges: (purges ?? []).map(dated),
    lockouts,
    instances: store.driver.instances(),
    headroom: dated(headroom.show()),
    // The status above reports an unavailable database.
    storage: await storageOf(app).catch(() => undefined),
    concerns,
    providers,
  }
}

const storageOf = async ({ store }: App) => ({
  bytes: await (store.driver.name === 'sqlite' ? store.readSqliteBytes() : store.readPostgresBytes()),
})

/** Whether each optional grant is enabled, by the group of its configuration key: `token_exchange.enabled` is token_exchange. */
const grantFeatures = (config: App['config']): Record<string, boolean> =>
  Object.fromEntries(
    grants.flatMap((grant) => (grant.switch ? [[grant.switch.split('.')[0], grant.enabled(config)]] : [])),
  )
