// Authorization details (RFC 9396): what a request asks for, in the types that its resource declares, and the part of it that a token gets.
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import { isObject, parseValue } from '../../lib/json.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { type AuthorizationDetail, type DetailsType, someOf } from '../../records/authorization_details.ts'
import type { Resource } from '../../records/resource.ts'

const MAX_TEXT = 16 * 1024
const MAX_ELEMENTS = 20

const refuse = (fault: string, reason: Reason) =>
  new OAuthError('invalid_authorization_details', `authorization_details${fault}`, { reason })

/** The elements of a parameter; undefined without any. Throws invalid_authorization_details. */
function parseDetails(text: string | undefined): AuthorizationDetail[] | undefined {
  if (text === undefined) return undefined
  if (Buffer.byteLength(text) > MAX_TEXT) throw refuse(` may have at most ${MAX_TEXT} bytes`, 'details_too_large')
  const elements = parseValue(Buffer.from(text))
  if (!Array.isArray(elements)) throw refuse(' must be a JSON array of objects', 'details_malformed')
  if (elements.length > MAX_ELEMENTS) throw refuse(` may have at most ${MAX_ELEMENTS} elements`, 'details_too_many')
  for (const [i, element] of elements.entries())
    if (!isObject(element) || typeof element['type'] !== 'string')
      throw refuse(`[${i}] must be an object with a type`, 'details_malformed')
  return someOf(elements as AuthorizationDetail[])
}

/** The types that a resource declares; none without a resource. */
export const detailsTypesOf = (
  resource: Pick<Resource, 'authorization_details_types'> | undefined,
): readonly DetailsType[] => resource?.authorization_details_types ?? []

/** The details that a request asks for at a resource. Undefined without any. Throws invalid_authorization_details that names the member at fault. */
export async function requestedDetails(
  app: Pick<App, 'details'>,
  text: string | undefined,
  resource: Resource | undefined,
): Promise<AuthorizationDetail[] | undefined> {
  const elements = parseDetails(text)
  const checks = new Map<string, (element: AuthorizationDetail) => string | undefined>()
  for (const type of detailsTypesOf(resource))
    if (elements?.some((each) => each.type === type.type)) checks.set(type.type, await app.details.checkOf(type))
  for (const [i, element] of (elements ?? []).entries()) {
    const check = checks.get(element.type)
    if (!check) throw refuse(`[${i}].type is not a type of this resource`, 'details_type')
    const fault = check(element)
    if (fault !== undefined) throw refuse(`[${i}]${fault}`, 'details_schema')
  }
  return elements
}

/** The same text for JSON values that differ in the order of their members only. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member,
  )

/** The granted elements whose types the resource still declares. Undefined when there are none. */
export const remainingDetails = (
  granted: readonly AuthorizationDetail[] | undefined,
  resource: Resource | undefined,
): AuthorizationDetail[] | undefined =>
  granted && someOf(granted.filter(({ type }) => detailsTypesOf(resource).some((each) => each.type === type)))

/**
 * The elements that a token request names, each of which must be one of the granted ones, unchanged and at most once; without the parameter all of them.
 * Undefined when there are none. Throws invalid_authorization_details.
 */
export function narrowedDetails(
  text: string | undefined,
  granted: readonly AuthorizationDetail[] | undefined,
): AuthorizationDetail[] | undefined {
  const wanted = parseDetails(text)
  if (wanted === undefined) return someOf([...(granted ?? [])])
  const left = (granted ?? []).map((element) => ({ element, text: canonical(element) }))
  return wanted.map((each, i) => {
    const text = canonical(each)
    const at = left.findIndex((one) => one.text === text)
    if (at < 0) throw refuse(`[${i}] was not granted`, 'details_not_granted')
    return left.splice(at, 1)[0]?.element as AuthorizationDetail
  })
}

/** Refuses details at a grant that has none: a client that limits its request with them must not get more than it asked for. Throws invalid_request. */
export function refuseDetails({ authorization_details }: { authorization_details?: string }): void {
  if (authorization_details !== undefined)
    throw new OAuthError('invalid_request', 'authorization_details is not supported for this grant', {
      reason: 'authorization_details',
    })
}
