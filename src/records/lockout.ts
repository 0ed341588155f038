/** An address that may not sign in for a while, or an account whose logins wait, because too many logins failed. */
export interface LockoutRecord {
  id: string
  /** The address; undefined for an account. */
  address?: string
  /** The user of the account; undefined for an address. */
  user_id?: string
  /** Email of the user. */
  email?: string
  /** Failed logins since `since`. */
  failures: number
  since: number
  locked_at: number
  locked_until: number
}
