// The signing keys: one current, and the ones before it for as long as a token they signed may live.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { digest, newId } from '../lib/id.ts'
import type { Clock } from '../lib/time.ts'
import { type Alg, headerSegment, type Jwk, thumbprint } from './jws.ts'
import type { KeyStore, StoredKey } from './keyfile.ts'
import type { SigningKey } from './pool.ts'

export interface PublishedKey {
  kid: string
  alg: Alg
  jwk: Jwk
  thumbprint: string
  created_at: number
  retired_at?: number
  remove_at?: number
}
export interface Rotation {
  current_kid: string
  previous_kid: string
  rotated_at: number
}

export interface Keyring {
  readonly store: string
  /** What new tokens are signed with. */
  current(): SigningKey
  /** Keys that tokens may be verified with, current first, then newest first. */
  published(): PublishedKey[]
  find(kid: string): PublishedKey | undefined
  /** The JWK set (RFC 7517) as text, with its ETag. */
  jwks(): { body: string; etag: string }
  /** Makes a new key current at once; the previous one stays published until its tokens have expired. */
  rotate(): Promise<Rotation>
  /** Takes a key out at once, tokens that it signed or not; of the current one a new one takes the place. Undefined when it is not there. */
  revoke(kid: string): Promise<{ current_kid: string } | undefined>
  /** Reads the keys again. Rejects, and changes nothing, when they cannot be used. */
  reload(): Promise<void>
}

interface Options {
  store: KeyStore
  /** Algorithm of keys to be made. */
  alg: Alg
  /** Seconds that a token may live at most. */
  longestLife: number
  clock: Clock
}
interface Loaded {
  signing: SigningKey
  keys: PublishedKey[]
}

const SKEW_SECONDS = 60
export const ACCESS_TOKEN_TYP = 'at+jwt'

/** Opens the key store; makes the first key where there is none. */
export async function openKeyring({ store, alg, longestLife, clock }: Options): Promise<Keyring> {
  const ready = async () => {
    const keys = await store.load()
    return keys.length > 0
      ? keys
      : store.change((found) => (found.length > 0 ? found : [generateKey(alg, clock.now())]))
  }
  let loaded = load(await ready())
  let document: { body: string; etag: string; until: number } | undefined

  const published = () => loaded.keys.filter((key) => key.remove_at === undefined || key.remove_at > clock.now())
  const use = (keys: StoredKey[]) => {
    loaded = load(keys)
    document = undefined
  }

  return {
    store: store.name,
    current: () => loaded.signing,
    published,
    find: (kid) => published().find((key) => key.kid === kid),
    jwks() {
      if (document && document.until > clock.now()) return document
      const keys = published()
      const body = JSON.stringify({
        keys: keys.map(({ jwk, kid, alg: keyAlg }) => ({ ...jwk, kid, alg: keyAlg, use: 'sig' })),
      })
      document = {
        body,
        etag: `"${digest(body)}"`,
        until: Math.min(...keys.map((key) => key.remove_at ?? Number.POSITIVE_INFINITY)),
      }
      return document
    },
    async rotate() {
      const now = clock.now()
      const next = generateKey(alg, now)
      let previous = ''
      const keys = await store.change((found) => {
        previous = found.at(-1)?.kid ?? ''
        const retired = found.map((key) =>
          key.retired_at === undefined ? { ...key, retired_at: now, remove_at: now + longestLife + SKEW_SECONDS } : key,
        )
        return [...retired.filter((key) => (key.remove_at as number) > now), next]
      })
      use(keys)
      return { current_kid: next.kid, previous_kid: previous, rotated_at: now }
    },
    async revoke(kid) {
      let known = false
      const keys = await store.change((found) => {
        known = found.some((key) => key.kid === kid)
        const left = found.filter((key) => key.kid !== kid)
        return found.at(-1)?.kid === kid ? [...left, generateKey(alg, clock.now())] : left
      })
      use(keys)
      return known ? { current_kid: loaded.signing.kid } : undefined
    },
    reload: async () => use(await store.load()),
  }
}

function generateKey(alg: Alg, now: number): StoredKey {
  const { privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { kid: newId(), alg, pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, created_at: now }
}

function publicJwk(pem: string, kid: string): Jwk {
  try {
    return createPublicKey(pem).export({ format: 'jwk' }) as Jwk
  } catch (error) {
    throw new Error(`the signing key ${kid} is not usable: ${(error as Error).message}`, { cause: error })
  }
}

function load(stored: StoredKey[]): Loaded {
  const keys = stored.map(({ pem, ...key }): PublishedKey => {
    const jwk = publicJwk(pem, key.kid)
    return { ...key, jwk, thumbprint: thumbprint(jwk) as string }
  })
  const current = stored.at(-1)
  if (!current) throw new Error('the key store holds no key')
  const { kid, alg, pem } = current
  return {
    signing: { kid, alg, key: createPrivateKey(pem), header: headerSegment(ACCESS_TOKEN_TYP, alg, kid) },
    keys: keys.reverse(),
  }
}
