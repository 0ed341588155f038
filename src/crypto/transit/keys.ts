// Signing keys in the transit engine of Vault or OpenBao: the versions of one key. The state is only there, so that every instance reads
// the same. The newest version is the next key: instances and verifiers know it before it signs.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Alg, Jwk } from '../../records/jwk.ts'
import { importKey, verifySignature } from '../jws.ts'
import { always, currentOf, type KeySource, type MayMakeFirst, type SourceKey } from '../key_source.ts'
import type { RemoteSigner } from '../pool.ts'
import { SKEW_SECONDS } from '../stored_keys.ts'
import { createTransitClient, type TransitAccess, type TransitClient, type TransitParts } from './client.ts'
import { bootError, storeUnavailable, TransitRefusal } from './error.ts'
import { ensureKey, keyType, readKey, type TransitKey, versionsOf } from './key.ts'
import { pathOf } from './lease.ts'
import { createTransitSigner, type TransitSigner } from './signer.ts'

export interface TransitKeyOptions {
  access: TransitAccess
  mount: string
  name: string
  alg: Alg
  /** Maximum lifetime of a token in seconds. */
  longestLife: number
  /** Notifies other instances, which sign with the same key, that it changed. Undefined if there are none. */
  announce?: (() => Promise<void>) | undefined
  /** Whether the newest version was created ahead and does not sign yet. */
  ahead: AheadMark
  mayMakeFirst?: MayMakeFirst
}
/** Stores that a key has a version that was created ahead. The engine cannot store this; without this note the newest version signs. */
export interface AheadMark {
  isSet(): Promise<boolean>
  set(): Promise<void>
}

/** Seconds between two reads of the key, and so until a manual change or a change by another instance is known here. */
const LOOK_SECONDS = 10
/** Seconds until every instance has seen a version; the clocks of this machine and of the secret store may differ a little. */
const SEEN_SECONDS = LOOK_SECONDS + 5

/** The versions of a key, which is created if it is missing. The first load makes a test signature, and rejects with a message for operators. */
export function transitKeys(options: TransitKeyOptions, parts: TransitParts): KeySource {
  const { access } = options
  const client = createTransitClient(access, parts)
  const listeners: (() => void)[] = []
  const signer = createTransitSigner(client, options, () => {
    for (const listener of listeners) listener()
  })
  const versions = new TransitVersions(options, parts, client, signer)
  let checked = false

  return {
    name: 'secretstore_transit',
    remote: {
      lane: signer.stats,
      get isUnavailable() {
        return client.isUnavailable
      },
    },
    async load() {
      if (checked) return versions.load()
      const first = await versions.first().catch((error: unknown) => {
        throw bootError(access.setting, access.address, error)
      })
      checked = first.length > 0
      return first
    },
    rotate: () => orUnavailable(versions.rotate()),
    revoke: (kid) => orUnavailable(versions.revoke(kid)),
    watch(listener) {
      listeners.push(listener)
      const timer = setInterval(listener, LOOK_SECONDS * 1000).unref()
      return () => clearInterval(timer)
    },
  }
}

/** A refusal also counts as an unavailable secret store. */
const orUnavailable = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw storeUnavailable(error)
  })

class TransitVersions {
  private readonly options: TransitKeyOptions
  private readonly parts: TransitParts
  private readonly client: TransitClient
  private readonly signer: TransitSigner
  private readonly shared: boolean
  /** Always true if instances share the key. */
  private isAhead: boolean

  constructor(options: TransitKeyOptions, parts: TransitParts, client: TransitClient, signer: TransitSigner) {
    this.options = options
    this.parts = parts
    this.client = client
    this.signer = signer
    this.shared = options.announce !== undefined
    this.isAhead = this.shared
  }

  async load(): Promise<SourceKey[]> {
    return this.keysOf(await this.read())
  }

  /** Creates the key and its next version if they are missing, and makes a test signature. Returns no keys if the first one may not be created. */
  async first(): Promise<SourceKey[]> {
    const { mount, name, alg, ahead, mayMakeFirst = always } = this.options
    const key = await ensureKey(this.client, { mount, name, type: keyType(alg), mayMake: mayMakeFirst })
    if (!key) return []
    this.isAhead ||= await ahead.isSet()
    if (!this.isAhead || versionsOf(name, key, alg).length < 2) await this.makeAhead()
    const keys = await this.load()
    await trySignature(currentOf(keys), alg)
    return keys
  }

  async rotate(): Promise<SourceKey[]> {
    if (this.shared) await this.awaitSeen()
    await this.call('rotate', {})
    return this.changed()
  }

  /** Archives a version and all versions before it. Returns undefined if there is none with this kid. */
  async revoke(kid: string): Promise<SourceKey[] | undefined> {
    const { name, alg } = this.options
    const key = await this.read()
    const versions = versionsOf(name, key, alg).map(({ version }) => version)
    const revoked = versions.find((version) => kidOf(name, version) === kid)
    if (revoked === undefined) return undefined
    const least = revoked + 1
    const left = versions.filter((version) => version >= least).length
    for (let missing = (this.isAhead ? 2 : 1) - left; missing > 0; missing--) await this.call('rotate', {})
    // Versions below the minimum are archived: they neither sign nor are they published. The other bound may not be lower; 0 means none.
    const bound = key.min_encryption_version
    await this.call('config', {
      min_decryption_version: least,
      ...(bound > 0 && bound < least ? { min_encryption_version: least } : {}),
    })
    return this.changed()
  }

  private async call(action: string, body: object): Promise<void> {
    const { mount, name } = this.options
    await this.client.call('POST', pathOf(mount, 'keys', name, action), body)
  }

  private async read(): Promise<TransitKey> {
    const { mount, name } = this.options
    const key = await readKey(this.client, mount, name)
    if (!key) throw new Error(`the key ${name} no longer exists`)
    return key
  }

  /** The versions with the times at which they signed. With a next key in place, a new version makes the version before it current. */
  private keysOf(key: TransitKey): SourceKey[] {
    const { name, alg, longestLife } = this.options
    const versions = versionsOf(name, key, alg)
    const hasNext = this.isAhead && versions.length > 1
    const keys = versions.map(({ version, created_at, jwk }, i): SourceKey => {
      const successor = versions[i + (this.isAhead ? 2 : 1)]
      const signs: RemoteSigner = { sign: (input) => this.signer.sign(version, input) }
      const times = successor && {
        retired_at: successor.created_at,
        remove_at: successor.created_at + longestLife + SKEW_SECONDS,
      }
      const next = hasNext && i === versions.length - 1
      return { kid: kidOf(name, version), alg, created_at, jwk, key: signs, ...times, ...(next ? { next } : {}) }
    })
    return keys.filter(({ remove_at = Number.POSITIVE_INFINITY }) => remove_at > this.parts.clock.now())
  }

  /** Adds the next version. If only an operator may do that, the newest version continues to sign. */
  private async makeAhead(): Promise<void> {
    try {
      await this.call('rotate', {})
    } catch (error) {
      if (this.shared || !(error instanceof TransitRefusal)) throw error
      this.parts.log.warn(
        { err: error },
        'the next version of the signing key could not be created: a rotation would use a version that verifiers have not loaded yet',
      )
      return
    }
    if (!this.shared) await this.options.ahead.set()
    this.isAhead = true
  }

  /** Waits until every other instance has seen the next version. */
  private async awaitSeen(): Promise<void> {
    const { name, alg } = this.options
    const newest = versionsOf(name, await this.read(), alg).at(-1)
    const left = Math.min(SEEN_SECONDS, (newest?.created_at ?? 0) + SEEN_SECONDS - this.parts.clock.now())
    if (left > 0) await sleep(left * 1000)
  }

  /** The keys after a change. Instances that miss the notification read the key again within a minute or less. */
  private async changed(): Promise<SourceKey[]> {
    await this.options
      .announce?.()
      .catch((error: unknown) =>
        this.parts.log.warn({ err: error }, 'the other instances could not be notified of a key'),
      )
    return this.load()
  }
}

const kidOf = (name: string, version: number): string => `${name}-v${version}`

/** The start fails if the signature cannot be verified, because otherwise it would issue tokens that cannot be verified. */
async function trySignature({ kid, jwk, key }: SourceKey & { jwk: Jwk }, alg: Alg): Promise<void> {
  const input = 'test signature'
  const publicKey = importKey(alg, jwk)
  const signature = await (key as RemoteSigner).sign(input)
  if (!publicKey || !verifySignature(alg, publicKey, input, signature))
    throw new Error(`the signature of ${kid} cannot be verified with its public key`)
}
