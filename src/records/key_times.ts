// The times at which a signing key was created, was replaced, and may be removed.
import type { Alg } from './jwk.ts'

export interface KeyTimes {
  kid: string
  alg: Alg
  created_at: number
  /** Published, but not used for signatures yet. */
  next?: true | undefined
  /** When another key became the current key. */
  retired_at?: number
  /** When the last token that it signed has expired. The key is published until then. */
  remove_at?: number
}
