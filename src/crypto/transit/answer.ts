// An answer of the transit engine.
export type TransitJson = Readonly<Record<string, unknown>>

export interface TransitAnswer {
  status: number
  /** `data` and `auth` of the answer; empty objects if they are missing. */
  data: TransitJson
  auth: TransitJson
  /** The errors that the server reports. */
  errors: string
}
