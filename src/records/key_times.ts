// When a signing key was made, replaced and may be removed.
import type { Alg } from './jwk.ts'

export interface KeyTimes {
  kid: string
  alg: Alg
  created_at: number
  /** Published, but nothing is signed with it yet. */
  next?: true | undefined
  /** Set when another key became current. */
  retired_at?: number
  /** When the last token signed with it has expired; it is published until then. */
  remove_at?: number
}
