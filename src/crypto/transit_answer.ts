// An answer of the transit engine.
export type TransitJson = Readonly<Record<string, unknown>>

export interface TransitAnswer {
  status: number
  /** `data` and `auth` of the answer; empty objects where it has none. */
  data: TransitJson
  auth: TransitJson
  /** What the server says went wrong. */
  errors: string
}
