// Encryption at rest by the transit engine: the key stays there, and an encrypted text can be decrypted only for its purpose and row.
import type { SealPurpose } from '../../store/sealed.ts'
import type { AtRest } from '../encryption.ts'
import type { MayMakeFirst } from '../key_source.ts'
import { createTransitClient, type TransitAccess, type TransitParts } from './client.ts'
import { bootError, storeUnavailable, TransitRefusal } from './error.ts'
import { ensureKey, type TransitKey } from './key.ts'
import { pathOf } from './lease.ts'

export interface TransitEncryptOptions {
  access: TransitAccess
  mount: string
  name: string
  mayMake: MayMakeFirst
}

/** Types that authenticate associated data. */
const TYPES = ['aes256-gcm96', 'aes128-gcm96', 'chacha20-poly1305', 'xchacha20-poly1305']
const SEALED = /^\w+:v(\d+):/
const ROW = 'test text'

/** Opens a key of the engine and tests it. A missing key is created if that is allowed. Rejects with a message for operators. */
export async function transitEncrypt(options: TransitEncryptOptions, parts: TransitParts): Promise<AtRest> {
  const { access, mount, name, mayMake } = options
  const client = createTransitClient(access, parts)
  /** The newest known version. */
  let latest = 0

  const versionOf = (sealed: string) => Number(SEALED.exec(sealed)?.[1] ?? 0)
  const call = async (action: string, body: object, member: string): Promise<string> => {
    const path = pathOf(mount, action, name)
    const text = (await client.call('POST', path, body))?.[member]
    if (typeof text !== 'string') throw new TransitRefusal(404, path, `no ${member}`)
    return text
  }

  const atRest: AtRest = {
    driver: 'secretstore_transit_encrypt',
    get isUnavailable() {
      return client.isUnavailable
    },
    async seal(purpose, row, plaintext) {
      const body = { plaintext: base64(plaintext), associated_data: boundTo(purpose, row) }
      const sealed = await call('encrypt', body, 'ciphertext').catch((error: unknown) => {
        throw storeUnavailable(error)
      })
      latest = Math.max(latest, versionOf(sealed))
      return sealed
    },
    async open(purpose, row, sealed) {
      if (!SEALED.test(sealed)) throw new Error(`${row}: this is not a text that a transit engine has sealed`)
      const body = { ciphertext: sealed, associated_data: boundTo(purpose, row) }
      const plaintext = await call('decrypt', body, 'plaintext').catch((error: unknown) => {
        const isRefused = error instanceof TransitRefusal && error.status === 400
        throw isRefused
          ? new Error(`${row}: cannot be opened: ${error.message}`, { cause: error })
          : storeUnavailable(error)
      })
      return Buffer.from(plaintext, 'base64').toString('utf8')
    },
    isCurrent: (sealed) => versionOf(sealed) >= latest,
  }

  try {
    const key = await ensureKey(client, { mount, name, type: TYPES[0] as string, mayMake })
    if (!key) throw new Error(`there is no key ${mount}/${name}: is the server running, is --config right?`)
    latest = key.latest
    await testKey(key, name, atRest)
  } catch (error) {
    throw bootError(access.setting, access.address, error)
  }
  return atRest
}

/** Rejects unless the key encrypts, decrypts, and binds a text to its row. */
async function testKey(key: TransitKey, name: string, atRest: AtRest): Promise<void> {
  if (!TYPES.includes(key.type) || key.derived)
    throw new Error(
      `the key ${name} is of type ${key.type}${key.derived ? ', derived' : ''}, but ${TYPES[0]} is needed`,
    )
  const sealed = await atRest.seal('signing_key', ROW, ROW)
  if ((await atRest.open('signing_key', ROW, sealed)) !== ROW) throw new Error(`the key ${name} does not decrypt`)
  // Vault before 1.13 ignores unknown parameters: a text of one row could be decrypted in another.
  const elsewhere = await atRest.open('signing_key', `not ${ROW}`, sealed).catch((error: unknown) => {
    if (error instanceof Error && error.cause instanceof TransitRefusal && error.cause.status === 400) return undefined
    throw error
  })
  if (elsewhere !== undefined) throw new Error('the engine ignores associated_data: Vault 1.13 or OpenBao is needed')
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const boundTo = (purpose: SealPurpose, row: string): string => base64(JSON.stringify([purpose, row]))
