// The interface of encryption at rest, for every driver.
import type { SealPurpose } from '../store/sealed.ts'

export interface AtRest {
  readonly driver: string
  /** Encrypts a text for one row, for example `signing-key:<kid>`. */
  seal(purpose: SealPurpose, row: string, plaintext: string): Promise<string>
  /** Decrypts a text. Throws when purpose, row or key differ, or when the encrypted text was changed. */
  open(purpose: SealPurpose, row: string, sealed: string): Promise<string>
  /** Whether the last calls of a remote engine failed. */
  readonly isUnavailable?: boolean
  /** Whether the newest key encrypted it. If not, `service rekey` encrypts it again. */
  isCurrent(sealed: string): boolean
}
