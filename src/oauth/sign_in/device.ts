// What the device authorization grant (RFC 8628) shares: the codes, and the limit on guessing user codes.
import { randomInt } from 'node:crypto'
import type { App } from '../../context.ts'
import { subscriber } from '../../http/rate_limit.ts'
import { type BucketStore, SharedBuckets } from '../../http/shared_buckets.ts'

export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const DEVICE_CODE_PREFIX = 'dc'

/** Letters without vowels, so that no code is a word, and without Y (RFC 8628 §6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8
const USER_CODE = new RegExp(`^[${LETTERS}]{${LENGTH}}$`)

/** A random user code: 20^8 possible values, which the limit on guessing protects. */
export const newUserCode = (): string =>
  Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')

/** A user code as it is shown: `BCDF-GHJK`. */
export const shownUserCode = (code: string): string => `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`

/** The user code in what a person typed: in any case, with or without hyphens and spaces. Undefined when it cannot be one. */
export function parseUserCode(typed: string): string | undefined {
  const code = typed.toUpperCase().replaceAll(/[\s\p{Pd}]/gu, '')
  return USER_CODE.test(code) ? code : undefined
}

/** The MAC by which a user code is stored. A plain hash of so short a code could be reversed. Every instance makes the same one. */
export const userCodeHash = ({ successors }: Pick<App, 'successors'>, code: string): string =>
  successors.mac('device user code', code)

/** The MACs by which a user code may be stored: one for each session secret. */
export const userCodeHashes = ({ successors }: Pick<App, 'successors'>, code: string): string[] =>
  successors.macs('device user code', code)

/** Unknown user codes of one session or one address: ten at once, then one a minute. */
const [GUESSES, GUESSES_PER_SECOND] = [10, 1 / 60]

/** The limit on unknown user codes, for all instances together. */
export const openUserCodeLimit = (store: BucketStore): SharedBuckets =>
  new SharedBuckets('user code', { rate: GUESSES_PER_SECOND, burst: GUESSES }, store)

/** Device codes of one address for clients that do not authenticate: thirty at once, then one a second. */
const [CODES, CODES_PER_SECOND] = [30, 1]

/** The limit on device codes by address, for all instances together. */
export const openDeviceCodeLimit = (store: BucketStore): SharedBuckets =>
  new SharedBuckets('device code', { rate: CODES_PER_SECOND, burst: CODES }, store)

/** What is limited for a session and the address of its request. */
export const guessKeys = (session_id: string, address: string): readonly [string, string] => [
  `session ${session_id}`,
  subscriber(address),
]

/** Takes a guess before its user code is looked up, so that parallel requests cannot exceed the limit. Returns 0, or the seconds to wait. */
export async function takeGuess({ userCodes }: Pick<App, 'userCodes'>, keys: readonly string[]): Promise<number> {
  const taken: string[] = []
  for (const key of keys) {
    const wait = await userCodes.take(key)
    if (wait > 0) {
      // The other limit must not be used up by requests that this one refuses.
      await returnGuess({ userCodes }, taken)
      return wait
    }
    taken.push(key)
  }
  return 0
}

/** Returns a guess whose user code is known: only unknown codes are limited. */
export async function returnGuess({ userCodes }: Pick<App, 'userCodes'>, keys: readonly string[]): Promise<void> {
  await Promise.all(keys.map((key) => userCodes.giveBack(key)))
}
