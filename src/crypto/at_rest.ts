// Encryption at rest, for values that the database must not contain in clear. An encrypted text can be decrypted only for the purpose and
// the row that it was encrypted for.
import { type Env, secretVariable } from '../config/env.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../lib/time.ts'
import type { SealPurpose } from '../store/sealed.ts'
import { openLogger } from '../telemetry/logger.ts'
import { decrypt, deriveKey, encrypt, KEY_BYTES, NONCE_BYTES, randomNonce } from './aead.ts'
import type { AtRest } from './encryption.ts'
import type { MayMakeFirst } from './key_source.ts'
import { type TransitParts, transitParts } from './transit/client.ts'
import { transitEncrypt } from './transit/encrypt.ts'

export interface AtRestParts {
  /** The parts that reach the secret store. Commands have their own. */
  transit?: TransitParts
  /** Whether a missing key of the secret store may be created; never by default. */
  mayMakeKey?: MayMakeFirst
}

/** Opens the configured driver; undefined without one. Rejects when its keys are unavailable. */
export async function openAtRest(
  config: Config,
  env: Env,
  { transit = commandParts(config), mayMakeKey = async () => false }: AtRestParts = {},
): Promise<AtRest | undefined> {
  const { driver, aes_master, secretstore_transit_encrypt: there } = config.data_encryption
  const named = (variable: string) => secretVariable(env, variable) ?? ''
  if (driver === 'aes_master') return aesMaster(named(aes_master.key_env), secretVariable(env, aes_master.old_key_env))
  if (driver !== 'secretstore_transit_encrypt') return undefined
  const credentials =
    there.auth_method === 'token'
      ? { token: named(there.token_env) }
      : { role_id: named(there.approle.role_id_env), secret_id: named(there.approle.secret_id_env), mount: 'approle' }
  const setting = 'data_encryption.secretstore_transit_encrypt'
  const access = { setting, address: there.address, credentials, timeout: TRANSIT_TIMEOUT }
  return transitEncrypt({ access, mount: there.mount_path, name: there.key_name, mayMake: mayMakeKey }, transit)
}

/** Timeout of one call of the secret store in seconds. */
const TRANSIT_TIMEOUT = 10

/** The parts with which commands reach the secret store. They do not log to standard output, which contains the result of the command. */
function commandParts({ observability: { logging } }: Config): TransitParts {
  const log = openLogger({ ...logging, outputs: { ...logging.outputs, stdout: false } })
  return transitParts(systemClock, log)
}

/** `aes1.<key id>.<nonce, ciphertext and tag>` */
const SEALED = /^aes1\.([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{38,})$/
const KEY_ID_BYTES = 6
const HEX_KEY = /^[0-9a-f]{64}$/i

interface Master {
  id: string
  keyOf(purpose: SealPurpose): Buffer
}

/** AES-256-GCM with keys derived from a master key (64 hex characters). The old key still decrypts its own texts. Throws when a key is malformed. */
export function aesMaster(key: string, oldKey?: string): AtRest {
  const current = openMaster(key)
  const masters = [current, ...(oldKey ? [openMaster(oldKey)] : [])]
  return {
    driver: 'aes_master',
    async seal(purpose, row, plaintext) {
      const context = { key: current.keyOf(purpose), nonce: randomNonce(), aad: boundTo(purpose, row) }
      const sealed = Buffer.concat([context.nonce, encrypt(context, Buffer.from(plaintext))])
      return `aes1.${current.id}.${sealed.toString('base64url')}`
    },
    async open(purpose, row, sealed) {
      const [, id, text = ''] = SEALED.exec(sealed) ?? []
      if (id === undefined) throw new Error(`${row}: this is not a text that aes_master has sealed`)
      const master = masters.find((each) => each.id === id)
      if (!master)
        throw new Error(
          `${row}: sealed with the key ${id}, which is neither of data_encryption.aes_master.key_env nor of old_key_env`,
        )
      const bytes = Buffer.from(text, 'base64url')
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const plaintext = decrypt(
        { key: master.keyOf(purpose), nonce, aad: boundTo(purpose, row) },
        bytes.subarray(NONCE_BYTES),
      )
      if (!plaintext) throw new Error(`${row}: the sealed text was changed, or belongs to another row`)
      return plaintext.toString('utf8')
    },
    isCurrent: (sealed) => SEALED.exec(sealed)?.[1] === current.id,
  }
}

const boundTo = (purpose: SealPurpose, row: string): Buffer => Buffer.from(JSON.stringify([purpose, row]))

/** The master key itself is never used: for every purpose a key is derived from it. Its id is derived too, and reveals nothing about it. */
function openMaster(hex: string): Master {
  if (!HEX_KEY.test(hex)) throw new Error('a data encryption key is 64 hex characters (256 bits)')
  const master = Buffer.from(hex, 'hex')
  const derive = (use: string, bytes: number) => deriveKey(master, 'service at rest', use, bytes)
  const keys = new Map<SealPurpose, Buffer>()
  return {
    id: derive('key id', KEY_ID_BYTES).toString('base64url'),
    keyOf(purpose) {
      const key = keys.get(purpose) ?? derive(`purpose ${purpose}`, KEY_BYTES)
      keys.set(purpose, key)
      return key
    },
  }
}
