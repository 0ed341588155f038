// What this instance says about itself to the others on the same database.
import { scryptSync } from 'node:crypto'
import { hostname } from 'node:os'
import { type Env, secretVariable } from '../config/env.ts'
import { issuerOf } from '../config/issuer.ts'
import type { Config } from '../config/schema.ts'
import { sessionSecrets } from '../config/session_secrets.ts'
import { readBuild } from '../lib/build.ts'
import type { Fingerprints, InstanceAbout } from '../records/instance.ts'

/** The description of an instance that started at a time (epoch seconds). On SQLite it has no fingerprints, because it is alone. */
export const aboutInstance = (config: Config, env: Env, started_at: number): InstanceAbout => ({
  version: readBuild().version,
  host: hostname(),
  address: config.server.address,
  started_at,
  threads: config.server.front_threads,
  ...(config.storage.driver === 'postgres' ? { fingerprints: fingerprintsOf(config, env) } : {}),
})

function fingerprintsOf(config: Config, env: Env): Fingerprints {
  const { signing, rate_limit } = config
  const { enabled, requests_per_second, burst } = rate_limit
  return {
    issuer: issuerOf(config),
    session_secret: hashOf('session', (sessionSecrets(config) ?? []).join('\n')),
    signing: `${signing.algorithm}, ${signing.key_store}`,
    encryption_key: encryptionOf(config, env),
    limits: enabled ? `${requests_per_second}/s, burst ${burst}` : 'none',
  }
}

function encryptionOf({ data_encryption: { driver, ...drivers } }: Config, env: Env): string {
  if (driver === 'aes_master') return hashOf('encryption', secretVariable(env, drivers.aes_master.key_env) ?? '')
  if (driver !== 'secretstore_transit_encrypt') return 'none'
  const { address, mount_path, key_name } = drivers.secretstore_transit_encrypt
  return `${address}/${mount_path}/${key_name}`
}

/** Slow, so that who can read the database cannot try secrets. */
const hashOf = (purpose: string, secret: string): string =>
  secret === '' ? 'none' : scryptSync(secret, `service instance ${purpose}`, 16).toString('base64url')
