// Who may use a resource, and which of its scopes: the rules of `access` and of the groups of scopes. Every grant, introspection, the
// authorization endpoint and explain call these functions. They are pure.
import { asciiDomain, domainOf } from '../../lib/email.ts'
import type { Resource, ResourceAccess, ResourceScope, TokenClaim } from '../../records/resource.ts'
import { hasTwoFactors, type Proven } from '../../records/sign_in.ts'
import type { Person } from '../../records/user.ts'

/** `access` of the resource, the second factor that it requires, or the groups of the scopes that were asked for. */
export type AccessRule = 'access' | 'second_factor' | 'scope_groups'

export interface AccessDecision {
  /** The scopes that the person may have, of those that were asked for. */
  scope: readonly string[]
  /** The rule that refuses the person; undefined when the person may use the resource. */
  refused_by?: AccessRule
}

/** The claims about a person in a token. */
export type ClaimsAbout = Partial<Pick<Person, TokenClaim>>

/** Whether a token for the resource depends on who the user is. Without rules and claims no user needs to be read. */
export const concernsPerson = (resource: Resource): boolean => resource.token_claims.length > 0 || hasRules(resource)

type Rules = Pick<Resource, 'access' | 'scopes'>

/** Whether who may use a resource, or which of its scopes, depends on who the user is. */
export const hasRules = ({ access, scopes }: Rules): boolean =>
  access.mode === 'restricted' || access.second_factor === true || scopes.some(({ groups }) => groups !== undefined)

/** Whether the rules after a change may refuse a user or a scope that the rules before it allow. */
export function narrows(before: Rules, after: Rules): boolean {
  if (!hasRules(after)) return false
  return narrowsList(before.access, after.access) || narrowsScopes(before.scopes, after.scopes)
}

function narrowsList(before: ResourceAccess, after: ResourceAccess): boolean {
  if (after.second_factor && !before.second_factor) return true
  if (after.mode === 'everyone') return false
  const lost = (name: 'groups' | 'users' | 'email_domains') => before[name].some((item) => !after[name].includes(item))
  return before.mode === 'everyone' || lost('groups') || lost('users') || lost('email_domains')
}

/** A scope that is no longer declared gives no access, so a token may be left without any. */
function narrowsScopes(before: readonly ResourceScope[], after: readonly ResourceScope[]): boolean {
  const find = (scopes: readonly ResourceScope[], name: string) => scopes.find((each) => each.name === name)
  const isGone = before.some(({ name }) => !find(after, name))
  const isNarrower = after.some(({ name, groups }) => {
    const old = find(before, name)?.groups
    return groups !== undefined && (old === undefined || old.some((group) => !groups.includes(group)))
  })
  return isNarrower || (isGone && after.some(({ groups }) => groups !== undefined))
}

/**
 * Decides whether a person may use a resource with some of the scopes. `person` is undefined for a subject that is not a user here, `proven` is
 * how the person has signed in.
 */
export function decideAccess(
  { access, scopes }: Resource,
  person: Person | undefined,
  names: readonly string[],
  proven: Proven = {},
): AccessDecision {
  if (admittedBy(access, person) === undefined) return { scope: [], refused_by: 'access' }
  if (access.second_factor && !hasTwoFactors(proven)) return { scope: [], refused_by: 'second_factor' }
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
  const domain = verifiedDomain(person)
  return email_domains.some((each) => asciiDomain(each) === domain) ? 'email_domains' : undefined
}

/** Whether a person is a member of one of the groups. True for an empty list of groups. */
const isInOne = (person: Person | undefined, groups: readonly string[] | undefined): boolean =>
  groups === undefined || groups.some((name) => person?.isIn.has(name))

/** The domain of a verified email as it is compared; empty without one. */
const verifiedDomain = ({ email = '', email_verified }: Person): string =>
  email_verified ? asciiDomain(domainOf(email)) : ''

/** The claims about a person that the resource asks for; undefined when there are none. */
export function claimsAbout({ token_claims }: Resource, person: Person | undefined): ClaimsAbout | undefined {
  if (!person || token_claims.length === 0) return undefined
  const { groups, email, email_verified, name } = person
  const known = { groups, name: name || undefined, email, email_verified: email && email_verified }
  const asked = token_claims.map((claim) => [claim, known[claim]]).filter(([, value]) => value !== undefined)
  return Object.fromEntries(asked) as ClaimsAbout
}
