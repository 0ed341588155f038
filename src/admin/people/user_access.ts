// Which resources a user may use, and why: the decision of every grant, for all resources.
import { z } from 'zod'
import { admittedBy, decideAccess } from '../../oauth/tokens/access.ts'
import type { Resource } from '../../records/resource.ts'
import { type Person, personOf } from '../../records/user.ts'
import { action } from '../action.ts'
import * as answers from '../answers/people.ts'
import { paging } from '../lists.ts'
import { getUser } from './people.ts'

export const userAccess = action('GET /admin/users/{id}/access', {
  doc: 'Shows for each resource, oldest first, whether the user may use it, by which rule, and with which scopes.',
  answer: z.array(answers.accessOfUser),
  query: z.strictObject(paging(500, 100)),
  async run(app, { params, query }) {
    const user = await getUser(app, params.id)
    const person = personOf(user)
    const isDisabled = user.status !== 'active'
    return { shown: (await app.store.listResources(query)).map((resource) => accessJson(resource, person, isDisabled)) }
  },
})

function accessJson(resource: Resource, person: Person, isDisabled: boolean) {
  const { slug, display_name, access, scopes } = resource
  const names = scopes.map(({ name }) => name)
  // Users are asked for a second factor where a resource requires one.
  const decided = decideAccess(resource, person, names, { amr: ['mfa'] })
  const refused_by = isDisabled ? 'user_inactive' : decided.refused_by
  const scope = isDisabled ? [] : decided.scope
  const rule = admittedBy(access, person)
  return {
    slug,
    display_name,
    allowed: refused_by === undefined,
    ...(rule ? { admitted_by: rule } : {}),
    ...(refused_by ? { refused_by } : {}),
    groups: rule === 'groups' ? access.groups.filter((name) => person.isIn.has(name)) : [],
    scopes: [...scope],
    // Without access the user gets no scope, whatever the scopes say.
    missing_scopes: rule ? scopes.filter(({ name }) => !scope.includes(name)).map(missing) : [],
  }
}

const missing = ({ name, groups = [] }: Resource['scopes'][number]) => ({ name, groups })
