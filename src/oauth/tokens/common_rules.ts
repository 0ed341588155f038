// Rules that several grants have.
import type { App } from '../../context.ts'
import { narrowedDetails, remainingDetails, requestedDetails } from './authorization_details.ts'
import { resolveMint } from './resource.ts'
import type { GrantFacts, GrantRule } from './rule.ts'
import { accessOf, refusedAccess } from './subject_access.ts'

/** The resource, which issues its tokens here and is not the admin listener. */
export const RESOURCE_KNOWN: GrantRule<GrantFacts> = {
  name: 'resource_known',
  async check(app, facts) {
    if (facts.uri !== undefined) facts.resource = await resolveMint(app, facts.uri)
  },
}

/** The resource, which issues its tokens here or is the admin listener. */
export const SIGN_IN_RESOURCE_KNOWN: GrantRule<GrantFacts> = {
  name: 'resource_known',
  async check(app, facts) {
    if (facts.uri !== undefined) facts.resource = await resolveMint(app, facts.uri, 'sign_in')
  },
}

/** The details that a request asks for, in the types of the resource. */
export const REQUESTED_DETAILS: GrantRule<GrantFacts> = {
  name: 'authorization_details',
  check(app, facts) {
    // Nearly no request has any, and each await costs.
    if (facts.asked_details !== undefined) return addDetails(app, facts)
  },
}

async function addDetails(app: App, facts: GrantFacts): Promise<void> {
  facts.authorization_details = await requestedDetails(app, facts.asked_details, facts.resource)
}

/** The details of what a request presents, or the part of them that it names. The resource, if there is one, must declare their types. */
export const HELD_DETAILS: GrantRule<GrantFacts> = {
  name: 'authorization_details',
  check(_, facts) {
    const { asked_details, held_details, resource } = facts
    const left = resource ? remainingDetails(held_details, resource) : held_details
    facts.authorization_details = narrowedDetails(asked_details, left)
  },
}

/** What the resource says about the user. `code` is that of the refusal. */
export const accessRules = (code: 'access_denied' | 'invalid_grant'): readonly GrantRule<GrantFacts>[] => [
  {
    name: 'access',
    async check(app, facts) {
      const { resource, sub, user_version, proven, names } = facts
      if (!resource) return
      const subject = { sub, client_id: facts.client.client_id, user_version, proven }
      const access = await accessOf(app, resource, subject, names)
      const { refused_by } = access
      facts.wanted = names
      facts.access = access
      facts.about = access.about
      if (refused_by && refused_by !== 'scope_groups') throw refusedAccess(code, sub, resource, refused_by)
    },
  },
  {
    name: 'scope_groups',
    check(_, facts) {
      const { resource, sub, access } = facts
      if (!resource || !access) return
      if (access.refused_by) throw refusedAccess(code, sub, resource, access.refused_by)
      facts.names = access.scope
    },
  },
]
