/** A type of authorization details (RFC 9396 §2) that a resource declares. */
export interface DetailsType {
  type: string
  /** What its elements allow, for people. */
  description: string
  /** JSON Schema 2020-12 of a whole element. Its `type` needs no mention. */
  schema: Readonly<Record<string, unknown>>
  /** Lines of text for people, with `{member}` for a value. A line whose member is absent is left out. */
  display?: string[]
}

/** An element of authorization details. */
export type AuthorizationDetail = Readonly<Record<string, unknown>> & { readonly type: string }

/** What was asked for, and the positions of the elements that the person allowed; undefined before the decision. */
export interface AskedDetails {
  asked: AuthorizationDetail[]
  granted?: number[]
}

/** The elements that were granted; undefined when there are none. */
export const grantedDetails = (details: AskedDetails | undefined): AuthorizationDetail[] | undefined =>
  someOf(details?.granted?.flatMap((at) => details.asked[at] ?? []))

/** The elements; undefined when there are none. */
export const someOf = <T>(elements: T[] | undefined): T[] | undefined =>
  elements === undefined || elements.length === 0 ? undefined : elements
