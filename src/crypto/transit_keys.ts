// Signing keys in the transit engine of Vault or OpenBao: the versions of one key. Its state is there alone, so that every
// instance reads the same. The newest version is the next key: instances and verifiers know it before it signs.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Alg, Jwk } from '../records/jwk.ts'
import { importKey, verifySignature } from './jws.ts'
import { always, currentOf, type KeySource, type MayMakeFirst, type SourceKey } from './key_source.ts'
import type { RemoteSigner } from './pool.ts'
import { SKEW_SECONDS } from './stored_keys.ts'
import { createTransitClient, type TransitAccess, type TransitParts } from './transit_client.ts'
import { away, bootError, TransitRefusal } from './transit_error.ts'
import { ensureKey, keyType, readKey, type TransitKey, versionsOf } from './transit_key.ts'
import { pathOf } from './transit_lease.ts'
import { createTransitSigner } from './transit_signer.ts'

export interface TransitKeyOptions {
  access: TransitAccess
  mount: string
  name: string
  alg: Alg
  /** Seconds that a token may live at most. */
  longestLife: number
  /** Tells other instances, which sign with the same key, that it changed. Undefined where there are none. */
  announce?: (() => Promise<void>) | undefined
  /** Whether the newest version was made ahead, and does not sign yet. */
  ahead: AheadMark
  mayMakeFirst?: MayMakeFirst
}
/** Remembers that a key has a version made ahead: the engine has no place for it, and without one its newest version signs. */
export interface AheadMark {
  isSet(): Promise<boolean>
  set(): Promise<void>
}

/** Seconds between two looks at the key, and so until a change by hand or by another instance is known here. */
const LOOK_SECONDS = 10
/** Seconds until every instance has seen a version, the clocks of this machine and the secret store being a little apart. */
const SEEN_SECONDS = LOOK_SECONDS + 5

/** The versions of a key, which is made where there is none. The first load signs once, and rejects with words for the operator. */
export function transitKeys(options: TransitKeyOptions, parts: TransitParts): KeySource {
  const { access, mount, name, alg, longestLife, announce, ahead, mayMakeFirst = always } = options
  const { clock, log } = parts
  const shared = announce !== undefined
  const client = createTransitClient(access, parts)
  const listeners: (() => void)[] = []
  const signer = createTransitSigner(client, options, () => {
    for (const listener of listeners) listener()
  })
  let checked = false
  /** Always where instances share the key. */
  let isAhead = shared

  const call = async (action: string, body: object): Promise<void> =>
    void (await client.call('POST', pathOf(mount, 'keys', name, action), body))

  async function read(): Promise<TransitKey> {
    const key = await readKey(client, mount, name)
    if (!key) throw new Error(`the key ${name} is gone`)
    return key
  }
  /** Each version, and when which one signed: with a next one kept ready, a version makes the one before it current. */
  function keysOf(key: TransitKey): SourceKey[] {
    const versions = versionsOf(name, key, alg)
    const hasNext = isAhead && versions.length > 1
    const keys = versions.map(({ version, created_at, jwk }, i): SourceKey => {
      const successor = versions[i + (isAhead ? 2 : 1)]
      const signs: RemoteSigner = { sign: (input) => signer.sign(version, input) }
      const times = successor && {
        retired_at: successor.created_at,
        remove_at: successor.created_at + longestLife + SKEW_SECONDS,
      }
      const next = hasNext && i === versions.length - 1
      return { kid: kidOf(name, version), alg, created_at, jwk, key: signs, ...times, ...(next ? { next } : {}) }
    })
    return keys.filter(({ remove_at = Number.POSITIVE_INFINITY }) => remove_at > clock.now())
  }

  async function first(): Promise<SourceKey[]> {
    const key = await ensureKey(client, { mount, name, type: keyType(alg), mayMake: mayMakeFirst })
    if (!key) return []
    isAhead ||= await ahead.isSet()
    if (!isAhead || versionsOf(name, key, alg).length < 2) await makeAhead()
    const keys = keysOf(await read())
    await trySignature(currentOf(keys), alg)
    checked = true
    return keys
  }
  /** Adds the next version. Where only an operator may do that, the newest version goes on signing. */
  async function makeAhead(): Promise<void> {
    try {
      await call('rotate', {})
    } catch (error) {
      if (shared || !(error instanceof TransitRefusal)) throw error
      log.warn(
        { err: error },
        'no next version of the signing key could be made: a rotation would use one that nobody knows yet',
      )
      return
    }
    if (!shared) await ahead.set()
    isAhead = true
  }
  /** Where another instance may not have seen the next version yet, it waits. */
  async function awaitSeen(): Promise<void> {
    const newest = versionsOf(name, await read(), alg).at(-1)
    const left = Math.min(SEEN_SECONDS, (newest?.created_at ?? 0) + SEEN_SECONDS - clock.now())
    if (left > 0) await sleep(left * 1000)
  }
  /** What a change led to. Instances that do not hear of it look by themselves before long. */
  async function changed(): Promise<SourceKey[]> {
    await announce?.().catch((error: unknown) =>
      log.warn({ err: error }, 'the other instances could not be told of a key'),
    )
    return keysOf(await read())
  }
  /** Refusals, too, are the secret store's not being there for us. */
  const orAway = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      throw away(error)
    }
  }

  return {
    name: 'secretstore_transit',
    remote: {
      lane: signer.stats,
      get isAway() {
        return client.isAway
      },
    },
    async load() {
      if (checked) return keysOf(await read())
      return first().catch((error: unknown) => {
        throw bootError(access.setting, access.address, error)
      })
    },
    rotate: () =>
      orAway(async () => {
        if (shared) await awaitSeen()
        await call('rotate', {})
        return changed()
      }),
    revoke: (kid) =>
      orAway(async () => {
        const key = await read()
        const versions = versionsOf(name, key, alg).map(({ version }) => version)
        const revoked = versions.find((version) => kidOf(name, version) === kid)
        if (revoked === undefined) return undefined
        const least = revoked + 1
        const left = versions.filter((version) => version >= least).length
        for (let missing = (isAhead ? 2 : 1) - left; missing > 0; missing--) await call('rotate', {})
        // What is below the minimum is in the archive: it neither signs nor is it shown. The other bound may not be below it; 0 is none.
        const bound = key.min_encryption_version
        await call('config', {
          min_decryption_version: least,
          ...(bound > 0 && bound < least ? { min_encryption_version: least } : {}),
        })
        return changed()
      }),
    watch(listener) {
      listeners.push(listener)
      const timer = setInterval(listener, LOOK_SECONDS * 1000).unref()
      return () => clearInterval(timer)
    },
  }
}

const kidOf = (name: string, version: number): string => `${name}-v${version}`

/** A token that nobody can verify is worse than a start that fails. */
async function trySignature({ kid, jwk, key }: SourceKey & { jwk: Jwk }, alg: Alg): Promise<void> {
  const input = 'a signature to see that it works'
  const publicKey = importKey(alg, jwk)
  const signature = await (key as RemoteSigner).sign(input)
  if (!publicKey || !verifySignature(alg, publicKey, input, signature))
    throw new Error(`the signature of ${kid} cannot be verified with its public key`)
}
