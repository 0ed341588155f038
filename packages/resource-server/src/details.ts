// Authorization details (RFC 9396): the single actions that a token allows.

/** One element of `authorization_details`: its type, and members that belong to the type. */
export interface AuthorizationDetail {
  readonly type: string
  readonly [member: string]: unknown
}

/** Whether one of the details of a token has every member of `needed` with the same value. Members that `needed` does not name are not compared. */
export function hasDetail(claim: unknown, needed: AuthorizationDetail): boolean {
  const granted = Array.isArray(claim) ? claim : []
  return granted.some((each) => Object.entries(needed).every(([name, value]) => isEqual(memberOf(each, name), value)))
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) && Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined

/** Whether two JSON values are equal. The order of members does not matter. */
function isEqual(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every((name) => isEqual(memberOf(a, name), memberOf(b, name)))
}
