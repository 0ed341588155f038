// An answer of the transit engine.
export type Json = Readonly<Record<string, unknown>>

export interface Answer {
  status: number
  /** `data` and `auth` of the answer; empty objects where it has none. */
  data: Json
  auth: Json
  /** What the server says went wrong. */
  errors: string
}
