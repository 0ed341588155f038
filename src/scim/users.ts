// /Users: the people of the provider of a key.
import { longestLife } from '../config/lifetimes.ts'
import type { App } from '../context.ts'
import { empty, NO_STORE, type Reply, type Request } from '../http/message.ts'
import { EMAIL_ADDRESS } from '../lib/email.ts'
import { idFloor } from '../lib/id.ts'
import { newUserId } from '../oauth/clients/client_metadata.ts'
import { primaryEmail, profileOfName, type ScimPerson, type ScimUser } from '../records/scim.ts'
import type { User } from '../records/user.ts'
import { notStale, retryStale } from '../store/stale.ts'
import type { ScimCaller } from './caller.ts'
import { notThere, refusal, scimBody, scimReply } from './message.ts'
import { patchPerson, readOperations } from './patch.ts'
import { accountNameOf, personJson, personMembers, readPerson } from './person.ts'
import { answerList, scimParams, shownBy } from './query.ts'

const FILTERS = {
  id: 'id',
  username: 'userName',
  externalid: 'externalId',
  displayname: 'displayName',
  emails: 'email',
  'emails.value': 'email',
} as const

/** Lists people, or finds one. */
export const listPeople = (app: App, request: Request, { provider }: ScimCaller): Promise<Reply> =>
  answerList(request, FILTERS, async (page, shown) => {
    const { total, people } = await app.store.listScimUsers({ ...page, provider: provider.slug })
    return { total, items: people.map((each) => shown.of(personJson(app, each))) }
  })

async function getPerson({ store }: App, { params }: Request, { provider }: ScimCaller): Promise<ScimUser> {
  const person = await store.findScimUser({ id: params['id'] ?? '', provider: provider.slug })
  if (!person) throw notThere('user')
  return person
}

const answerPerson = (app: App, request: Request, person: ScimUser, status = 200): Reply => {
  const json = personJson(app, person)
  const location = status === 201 ? { location: json.meta.location } : undefined
  return scimReply(status, shownBy(scimParams(request)).of(json), location)
}

/** Shows a person. */
export const readPersonById = async (app: App, request: Request, caller: ScimCaller): Promise<Reply> =>
  answerPerson(app, request, await getPerson(app, request, caller))

/** Adds a person. Who signed in before keeps the account. */
export async function createPerson(app: App, request: Request, caller: ScimCaller): Promise<Reply> {
  const { active = true, ...person } = readPerson(personMembers(scimBody(request)))
  const user = accountOf(app, caller, person, active)
  const input = { provider: caller.provider, user, person, live_from: liveFrom(app) }
  const done = await app.store.recorded('createScimUser', input, caller.event())
  if (typeof done === 'string') throw taken(done)
  return answerPerson(app, request, done.person, 201)
}

/** The account of a new person. Its email is not verified before a sign-in vouches for it. */
function accountOf({ clock }: App, { provider }: ScimCaller, person: ScimPerson, active: boolean): User {
  const now = clock.now()
  const email = primaryEmail(person) ?? person.userName
  const hasSubject = provider.match === 'external_id' && provider.isSubject
  return {
    id: newUserId(),
    email: EMAIL_ADDRESS.test(email) ? email : undefined,
    email_verified: false,
    name: accountNameOf(person),
    ...profileOfName(person),
    role: 'user',
    status: active ? 'active' : 'disabled',
    provider: 'oidc',
    provider_issuer: provider.issuer,
    provider_sub: hasSubject ? person.externalId : undefined,
    operator_groups: [],
    provider_groups: [],
    version: 1,
    created_at: now,
    updated_at: now,
  }
}

/** Replaces a person. What is left out is gone, but `active` stays. */
export const replacePerson = (app: App, request: Request, caller: ScimCaller): Promise<Reply> => {
  const next = readPerson(personMembers(scimBody(request)))
  return writePerson(app, request, caller, ({ active }) => ({ active, ...next }))
}

/** Changes a person. All operations are done, or none. */
export function patchPersonById(app: App, request: Request, caller: ScimCaller): Promise<Reply> {
  const operations = readOperations(scimBody(request))
  return writePerson(app, request, caller, ({ userName, externalId, displayName, name, emails, active }) => ({
    active,
    ...readPerson(patchPerson({ userName, externalId, displayName, name, emails, active }, operations)),
  }))
}

async function writePerson(
  app: App,
  request: Request,
  caller: ScimCaller,
  next: (known: ScimUser) => ScimPerson & { active: boolean },
): Promise<Reply> {
  return retryStale(async () => {
    const known = await getPerson(app, request, caller)
    const { active, ...person } = next(known)
    const change = {
      provider: caller.provider,
      id: known.id,
      version: known.version,
      person,
      active,
      name: accountNameOf(person),
      now: app.clock.now(),
      live_from: liveFrom(app),
    }
    const done = notStale(await app.store.recorded('updateScimUser', change, caller.event()))
    if (done === undefined) throw notThere('user')
    if (typeof done !== 'object') throw taken(done)
    return readPersonById(app, request, caller)
  })
}

/** Deletes a person with the account. */
export async function deletePerson(app: App, request: Request, caller: ScimCaller): Promise<Reply> {
  const input = {
    id: request.params['id'] ?? '',
    provider: caller.provider.slug,
    now: app.clock.now(),
    live_from: liveFrom(app),
  }
  if (!(await app.store.recorded('deleteScimUser', input, caller.event()))) throw notThere('user')
  return empty(204, NO_STORE)
}

/** Tokens that were issued before this id have expired. */
export const liveFrom = ({ config, clock }: App): string => idFloor(clock.now() - longestLife(config) - 60)

const taken = (name: string) => refusal('uniqueness', `another user of this provider has this ${name}`)
