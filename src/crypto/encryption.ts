// What encryption at rest offers, whichever driver does it.
import type { SealPurpose } from '../records/seal_purpose.ts'

export interface AtRest {
  readonly driver: string
  /** Encrypts a text for one row, for example `signing-key:<kid>`. */
  seal(purpose: SealPurpose, row: string, plaintext: string): Promise<string>
  /** The text again. Throws when purpose, row or key are others, or the sealed text was changed. */
  open(purpose: SealPurpose, row: string, sealed: string): Promise<string>
  /** Whether the newest key sealed it: if not, `service rekey` seals it again. */
  isCurrent(sealed: string): boolean
}
