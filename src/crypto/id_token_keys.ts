// The keys of ID tokens whose algorithm is not that of access tokens. They are stored apart from the signing keys, so that an older release
// does not take one of them for its signing key. They rotate together with the signing keys.
import type { Alg } from '../records/jwk.ts'
import type { IdTokenAlg } from '../records/rare_members.ts'
import type { Logger } from '../telemetry/logger.ts'
import { currentOf, type KeySource, type MayMakeFirst, type SourceKey } from './key_source.ts'

interface IdTokenKeyOptions {
  /** The source of the signing keys. */
  signing: KeySource
  /** Opens the source of the keys of ID tokens, which creates keys of an algorithm. All algorithms have the same store. */
  open(alg: Alg, mayMakeFirst: MayMakeFirst): KeySource
  log: Pick<Logger, 'warn'>
}

/** The algorithm of ID tokens that the signing key does not have. */
const otherAlg = (alg: Alg): IdTokenAlg => (alg === 'RS256' ? 'ES256' : 'RS256')

/** A source of both kinds of keys. A key of ID tokens is created when prepare() asks for the first one. */
export function withIdTokenKeys({ signing, open, log }: IdTokenKeyOptions): KeySource {
  let isNeeded = false
  const mayMakeFirst = async () => isNeeded
  const sources = { RS256: open('RS256', mayMakeFirst), ES256: open('ES256', mayMakeFirst) }
  let known: SourceKey[] = []

  const both = (own: SourceKey[], idTokens: SourceKey[]): SourceKey[] => {
    known = idTokens.map((key) => ({ ...key, isIdToken: true as const }))
    return [...own, ...known]
  }
  const sourceBeside = (own: SourceKey[]): KeySource => sources[otherAlg(currentOf(own).alg)]
  /** Clients that do not need these keys must be served also while they cannot be read. */
  const readable = (own: SourceKey[]): Promise<SourceKey[]> =>
    sourceBeside(own)
      .load()
      .catch((error: unknown) => {
        log.warn({ err: error }, 'the keys of ID tokens could not be read; the previous ones stay in use')
        return known
      })

  return {
    ...signing,
    async load() {
      const own = await signing.load()
      return own.length === 0 ? own : both(own, await readable(own))
    },
    async prepare(alg) {
      isNeeded = true
      const source = sources[alg]
      const found = await source.load()
      const idTokens = found.length > 0 && currentOf(found).alg === alg ? found : await source.rotate()
      return both(await signing.load(), idTokens)
    },
    async rotate() {
      const own = await signing.rotate()
      const source = sourceBeside(own)
      const found = await source.load()
      return both(own, found.length > 0 ? await source.rotate() : found)
    },
    async revoke(kid) {
      const left = await signing.revoke(kid)
      if (left) return both(left, await readable(left))
      const own = await signing.load()
      const idTokens = await sourceBeside(own).revoke(kid)
      return idTokens && both(own, idTokens)
    },
  }
}
