// The signing keys in use: the current key, the previous keys for as long as their tokens may live, and the next key.
import { unavailable } from '../lib/error.ts'
import { digest } from '../lib/id.ts'
import { SingleFlight, sharedRead } from '../lib/threads/single_flight.ts'
import type { Clock } from '../lib/time.ts'
import type { Alg } from '../records/jwk.ts'
import type { IdTokenAlg } from '../records/rare_members.ts'
import type { AccessTokenTyp } from '../records/resource.ts'
import { headerSegment, thumbprint } from './jws.ts'
import { currentOf, type KeySource, type SourceKey } from './key_source.ts'
import type { SigningKey } from './pool.ts'

export type PublishedKey = Omit<SourceKey, 'key'> & { thumbprint: string }
export interface Rotation {
  current_kid: string
  previous_kid: string
  rotated_at: number
}

export type Keyring = Awaited<ReturnType<typeof openKeyring>>

interface Loaded {
  signing: Readonly<Record<AccessTokenTyp, SigningKey>>
  idTokens: Partial<Record<Alg, SigningKey>>
  keys: PublishedKey[]
  previous_kid: string
}

/** How long verifiers may cache the JWKS: a key that was published for less time may be unknown to some of them. */
export const JWKS_MAX_AGE_SECONDS = 300

/** Every caller can send the id of a key that does not exist, so the interval between reads is bounded. */
const SEEK_MS = 5000

interface JwksDocument {
  body: string
  etag: string
  /** Epoch seconds: the time at which the first key is no longer published. */
  until: number
}

interface Options {
  source: KeySource
  clock: Clock
  /** The location of the keys, for the message that there are none. */
  place?: string
  /** Called when keys that another process changed could not be read. The previous keys stay in use. */
  onError?(error: unknown): void
}

/** Loads the keys of a source. Rejects when they cannot be used. Without keys it resolves, and only calls that need a key fail. */
export async function openKeyring({ source, clock, onError, place = source.name }: Options) {
  let keys = await source.load()
  let known = loadAny(keys)
  let changed = async (): Promise<unknown> => undefined

  const loaded = (): Loaded => {
    if (!known) throw new Error(`no signing key in ${place}: is the server running, is --config right?`)
    return known
  }
  const published = (): PublishedKey[] =>
    (known?.keys ?? []).filter((key) => key.remove_at === undefined || key.remove_at > clock.now())
  const document = jwksCache(published, clock)
  const use = async (found: SourceKey[]): Promise<void> => {
    known = loadAny(found)
    keys = found
    document.drop()
    await changed()
  }
  const reload = async () => use(await source.load())
  const tryReload = () => reload().catch((error: unknown) => onError?.(error))
  const making = new SingleFlight<void>()
  const seekAgain = sharedRead(SEEK_MS, tryReload)
  const find = (kid: string): PublishedKey | undefined => published().find((key) => key.kid === kid)
  const stop = source.watch?.(() => void tryReload())

  return {
    store: source.name,
    /** The key that signs new tokens, with the header of their type; at+jwt by default. */
    current: (typ: AccessTokenTyp = 'at+jwt'): SigningKey => loaded().signing[typ],
    /** The key that signs ID tokens with an algorithm. It is created when it is needed for the first time. Rejects with 503 when that fails. */
    async idTokenKey(alg: IdTokenAlg): Promise<SigningKey> {
      const there = loaded().idTokens[alg]
      if (there) return there
      await making.run(alg, async () => use(await prepared(source, alg)))
      return loaded().idTokens[alg] ?? noIdTokenKey(alg)
    },
    /** Keys that verify tokens: the current key, then the previous keys, newest first, then the next key; then in the same order the keys of ID tokens. */
    published,
    find,
    /** As find(), for a key that another instance may have created: if it is unknown, the keys are read again, but not more often than every SEEK_MS. */
    async seek(kid: string): Promise<PublishedKey | undefined> {
      if (!find(kid)) await seekAgain()
      return find(kid)
    },
    /** The JWK set (RFC 7517) as text, with its ETag. */
    jwks: (): { body: string; etag: string } => document.current(),
    /** Makes the next key current. The previous key stays published until its tokens have expired. */
    async rotate(): Promise<Rotation> {
      loaded()
      await use(await source.rotate())
      const { signing, previous_kid } = loaded()
      return { current_kid: signing['at+jwt'].kid, previous_kid, rotated_at: clock.now() }
    },
    /** Removes a key at once, even if tokens that it signed are live. If it is the current key, another one becomes current. Undefined when the key does not exist. */
    async revoke(kid: string): Promise<{ current_kid: string } | undefined> {
      const left = await source.revoke(kid)
      if (left) await use(left)
      return left && { current_kid: loaded().signing['at+jwt'].kid }
    },
    /** Reads the keys again. When they cannot be used, it rejects and changes nothing. */
    reload,
    /** Every key, for another thread of this process. */
    keys: (): readonly SourceKey[] => keys,
    /** Registers a listener for changed keys. The caller of a change is answered after the listener has resolved. */
    onChange: (tell: () => Promise<unknown>): void => {
      changed = tell
    },
    /** The state of the remote engine that signs, if there is one. */
    remote: source.remote,
    /** Stops watching for changes of other processes. */
    close: () => stop?.(),
  }
}

async function prepared({ prepare }: KeySource, alg: IdTokenAlg): Promise<SourceKey[]> {
  if (!prepare) return noIdTokenKey(alg)
  return prepare(alg).catch((error: unknown) => {
    throw unavailable(`the key of ID tokens with ${alg} cannot be created`, { reason: 'id_token_key', cause: error })
  })
}

function noIdTokenKey(alg: IdTokenAlg): never {
  throw unavailable(`there is no key of ID tokens with ${alg}`, { reason: 'id_token_key' })
}

/** The JWK set of the published keys. It is created again after a drop, and when a key is no longer published. */
function jwksCache(published: () => PublishedKey[], clock: Clock) {
  let document: JwksDocument | undefined
  return {
    current(): JwksDocument {
      if (!document || document.until <= clock.now()) document = jwksOf(published())
      return document
    },
    drop(): void {
      document = undefined
    },
  }
}

function jwksOf(keys: readonly PublishedKey[]): JwksDocument {
  const body = JSON.stringify({ keys: keys.map(({ jwk, kid, alg }) => ({ ...jwk, kid, alg, use: 'sig' })) })
  const until = Math.min(...keys.map((key) => key.remove_at ?? Number.POSITIVE_INFINITY))
  return { body, etag: `"${digest(body)}"`, until }
}

const loadAny = (keys: readonly SourceKey[]): Loaded | undefined => (keys.length > 0 ? load(keys) : undefined)

/** Keys of one kind: the current key, then the previous keys, newest first, then the next key. */
function ordered(keys: readonly SourceKey[]): SourceKey[] {
  const current = currentOf(keys)
  const before = keys.filter((key) => !key.next && key !== current).reverse()
  return [current, ...before, ...keys.filter((each) => each.next)]
}

const signingAs = ({ kid, alg, key }: SourceKey, typ: AccessTokenTyp): SigningKey => ({
  kid,
  alg,
  key,
  header: headerSegment(typ, alg, kid),
})

function load(keys: readonly SourceKey[]): Loaded {
  const own = ordered(keys.filter(({ isIdToken }) => !isIdToken))
  const others = keys.filter(({ isIdToken }) => isIdToken)
  const idTokens = others.length > 0 ? ordered(others) : []
  const [current, previous] = own as [SourceKey, SourceKey?]
  return {
    signing: { 'at+jwt': signingAs(current, 'at+jwt'), JWT: signingAs(current, 'JWT') },
    idTokens: Object.fromEntries([...idTokens.slice(0, 1), current].map((key) => [key.alg, signingAs(key, 'JWT')])),
    keys: [...own, ...idTokens].map(({ key: _, ...shown }) => ({
      ...shown,
      thumbprint: thumbprint(shown.jwk) as string,
    })),
    previous_kid: previous && !previous.next ? previous.kid : '',
  }
}
