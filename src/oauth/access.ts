// Who may use a resource, and which of its scopes: the rules of `access` and of the groups of scopes. Every grant, introspection, the
// authorization endpoint and explain call these functions. They are pure.
import type { Person } from '../records/person.ts'
import type { Resource, ResourceAccess, TokenClaim } from '../records/resource.ts'

/** `access` of the resource, or the groups of the scopes that were asked for. */
export type AccessRule = 'access' | 'scope_groups'

export interface AccessDecision {
  /** The scopes that the person may have, of those that were asked for. */
  scope: readonly string[]
  /** The rule that refuses the person; undefined when the person may use the resource. */
  refused_by?: AccessRule
}

/** The claims about a person in a token. */
export type ClaimsAbout = Partial<Pick<Person, TokenClaim>>

/** Whether a token for the resource depends on who the user is. Without rules and claims no user needs to be read. */
export const concernsPerson = ({ access, scopes, token_claims }: Resource): boolean =>
  access.mode === 'restricted' || token_claims.length > 0 || scopes.some(({ groups }) => groups !== undefined)

/** Decides whether a person may use a resource with some of the scopes. `person` is undefined for a subject that is not a user here. */
export function decideAccess(
  { access, scopes }: Resource,
  person: Person | undefined,
  names: readonly string[],
): AccessDecision {
  if (admittedBy(access, person) === undefined) return { scope: [], refused_by: 'access' }
  const scope = names.filter((name) => isInOne(person, scopes.find((each) => each.name === name)?.groups))
  // Scopes that the resource does not declare, such as those of a sign-in, give no access to it.
  const declared = (of: readonly string[]) => of.some((name) => scopes.some((each) => each.name === name))
  return declared(names) && !declared(scope) ? { scope, refused_by: 'scope_groups' } : { scope }
}

/** The list of `access` that admits a person; undefined when none does. */
export function admittedBy(
  { mode, groups, users, email_domains }: ResourceAccess,
  person: Person | undefined,
): 'everyone' | 'groups' | 'users' | 'email_domains' | undefined {
  if (mode === 'everyone') return 'everyone'
  if (!person) return undefined
  if (isInOne(person, groups)) return 'groups'
  if (users.includes(person.id)) return 'users'
  return email_domains.includes(verifiedDomain(person)) ? 'email_domains' : undefined
}

/** Whether a person is a member of one of the groups. True for an empty list of groups. */
const isInOne = (person: Person | undefined, groups: readonly string[] | undefined): boolean =>
  groups === undefined || groups.some((name) => person?.isIn.has(name))

/** The domain of a verified email, in lower case; empty without one. */
const verifiedDomain = ({ email = '', email_verified }: Person): string =>
  email_verified ? email.slice(email.lastIndexOf('@') + 1).toLowerCase() : ''

/** The claims about a person that the resource asks for; undefined when there are none. */
export function claimsAbout({ token_claims }: Resource, person: Person | undefined): ClaimsAbout | undefined {
  if (!person || token_claims.length === 0) return undefined
  const { groups, email, email_verified, name } = person
  const known = { groups, name: name || undefined, email, email_verified: email && email_verified }
  const asked = token_claims.map((claim) => [claim, known[claim]]).filter(([, value]) => value !== undefined)
  return Object.fromEntries(asked) as ClaimsAbout
}

/** Maximum number of bytes of the groups in an access token: clients send it in a header. */
const MAX_GROUP_BYTES = 8192

/** The claims as a token contains them. Groups that are too long for a header are omitted; introspection returns them. */
export function inToken({ groups, ...about }: ClaimsAbout): ClaimsAbout {
  const fits = groups && Buffer.byteLength(JSON.stringify(groups)) <= MAX_GROUP_BYTES
  return fits ? { ...about, groups } : about
}
