// The admin operation that finds a record by what an operator has at hand: an id, a name, an address, a jti, a kid, or the id of a request.
import { z } from 'zod'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { text } from '../lib/field.ts'
import { isId } from '../lib/id.ts'
import { parseRange } from '../lib/range.ts'
import { isUserId } from '../oauth/clients/client_metadata.ts'
import { type AdminResource, action, paramNames, type Recorder } from './action.ts'
import { found, names } from './answers/found.ts'
import { eventsOfAddress, eventsOfRequest } from './audit.ts'
import { clients } from './clients/clients.ts'
import { activityOf, shownActivity } from './clients/connections.ts'
import { issuances } from './issuances.ts'
import { invalid } from './outcome.ts'
import { lockouts } from './people/lockouts.ts'
import { users } from './people/users.ts'
import { deletedRecords } from './resources/deleted.ts'
import { providers } from './resources/providers.ts'
import { resources } from './resources/resources.ts'
import { keys } from './system.ts'

/** Items of one kind that a search by name returns. */
const MOST = 20
/** Longest text that lists search for (lists.ts). */
const LONGEST_TEXT = 256

type Rows = Record<string, unknown>[]

/** What the list of a kind of items shows for a query. */
async function listed(app: App, { actions: { list } }: AdminResource, query: object, by: Recorder): Promise<unknown> {
  const input = { params: {}, body: {}, query: list?.query?.parse(query) }
  return (await list?.run(app, input, by))?.shown
}

/** No record has the name. Any other failure is one of the search: it does not mean that nothing was found. */
function absent(error: unknown): undefined {
  if (!(error instanceof OAuthError) || error.code !== 'not_found') throw error
}

/** What the operation `get` shows of the item with these path parameters. */
async function oneOf(app: App, { actions: { get } }: AdminResource, params: Record<string, string>, by: Recorder) {
  const result = await get?.run(app, { params, query: {}, body: {} }, by).catch(absent)
  return result?.shown as Rows[number] | undefined
}

/** The records whose texts contain this one. */
const withText = async (app: App, resource: AdminResource, query: string, by: Recorder): Promise<Rows> =>
  query.length > LONGEST_TEXT ? [] : ((await listed(app, resource, { q: query, limit: String(MOST) }, by)) as Rows)

/** The record with exactly this name or id, and the records whose texts contain it. */
async function byNameOrText(app: App, resource: AdminResource, query: string, by: Recorder): Promise<Rows> {
  const { name: kind } = resource
  const rows = await withText(app, resource, query, by)
  const [param = 'id'] = paramNames(resource.actions['get']?.path ?? '')
  const exact = await oneOf(app, resource, { [param]: query }, by)
  const id = kind === 'client' ? 'client_id' : 'id'
  const others = rows.filter((each) => each[id] !== exact?.[id])
  // A list shows less of a client than its own operation, so that the answer of one that is named exactly is read as the list shows it.
  const first = exact && (rows.find((each) => each[id] === exact[id]) ?? asListed(exact))
  return [...(first ? [first] : []), ...others].map((each) => ({ kind, ...each }))
}

const asListed = ({ secrets: _secrets, document: _document, ...rest }: Record<string, unknown>) => rest

/** Clients and resources that can be restored. */
const deletedNamed = async (app: App, query: string, by: Recorder): Promise<Rows> =>
  (await withText(app, deletedRecords, query, by)).map(({ kind: what, ...rest }) => ({
    kind: 'deleted',
    what,
    ...rest,
  }))

async function requestNamed(app: App, request_id: string): Promise<Rows> {
  if (!isId(request_id)) return []
  const events = await eventsOfRequest(app, request_id)
  const trails = (await activityOf(app)).filter(({ steps }) => steps.some((step) => step.request_id === request_id))
  if (events.length === 0 && trails.length === 0) return []
  return [
    {
      kind: 'request',
      request_id,
      events,
      activity: trails.map((each) => {
        const { steps, ...rest } = shownActivity(each, app.clock.now())
        return { ...rest, steps: steps.filter((step) => step.request_id === request_id) }
      }),
    },
  ]
}

async function addressNamed(app: App, address: string, by: Recorder): Promise<Rows> {
  if (address.includes('/') || !parseRange(address)) return []
  const events = await eventsOfAddress(app, address)
  const locked = (await listed(app, lockouts, {}, by)) as Rows
  const lockout = locked.find((each) => each['address'] === address)
  const trails = (await activityOf(app)).filter((each) => each.address === address)
  if (events.length === 0 && trails.length === 0 && !lockout) return []
  const activity = trails.map((each) => shownActivity(each, app.clock.now()))
  return [{ kind: 'address', address, lockout, events, activity }]
}

/** The published signing key with this id. */
async function keyNamed(app: App, kid: string, by: Recorder): Promise<Rows> {
  if (!app.keyring.published().some((each) => each.kid === kid)) return []
  const { keys: rows } = (await listed(app, keys, {}, by)) as { keys: Rows }
  return rows.filter((each) => each['kid'] === kid).map((each) => ({ kind: 'key', ...each }))
}

/** The provider with exactly this id or slug. */
async function providerNamed(app: App, id: string, by: Recorder): Promise<Rows> {
  if (providers.enabled && !providers.enabled(app.config)) return []
  const found = await oneOf(app, providers, { id }, by)
  return found ? [{ kind: 'provider', ...found }] : []
}

async function tokenNamed(app: App, id: string, by: Recorder): Promise<Rows> {
  const token = isId(id) ? await oneOf(app, issuances, { id }, by) : undefined
  if (!token) return []
  const { active: _active, act: _act, claims: _claims, ...shown } = token
  return [{ kind: 'token', ...shown }]
}

const MOST_NAMES = 100

/** What an id names, by its primary key. */
async function nameOf(store: App['store'], id: string) {
  if (isUserId(id)) {
    const user = await store.findUser({ id })
    return user && { kind: 'user', name: user.email || user.name || '' }
  }
  const client = await store.findClient({ client_id: id })
  if (client) return { kind: 'client', name: client.client_name }
  const resource = await store.findResourceByName({ name: id })
  return resource && { kind: 'resource', name: resource.display_name || resource.slug }
}

export const finding: AdminResource = {
  name: 'find',
  doc: 'Search by whatever names a record.',
  actions: {
    find: action('GET /admin/find', {
      doc: 'Finds clients, users, resources, deleted clients and resources, providers, tokens, keys, addresses and requests by an id, a name, an email, a URI, a slug, a jti, a kid, an IP address, or a request_id. Not by a token or a secret: those belong in no URL.',
      answer: found,
      query: z.strictObject({
        query: text(2048)
          .min(1, 'must not be empty')
          .describe(
            'An id, a part of a name, an email, a URI or slug, the jti of a token, the kid of a key, an IP address, or the id of a request.',
          ),
      }),
      cli: { command: 'find', rows: 'matches' },
      tool: { name: 'find', title: 'Find a record', rows: 'matches', reasons: true },
      async run(app, { query: { query } }, by) {
        const kinds = await Promise.all([
          byNameOrText(app, clients, query, by),
          byNameOrText(app, users, query, by),
          byNameOrText(app, resources, query, by),
          deletedNamed(app, query, by),
          providerNamed(app, query, by),
          tokenNamed(app, query, by),
          keyNamed(app, query, by),
          addressNamed(app, query, by),
          requestNamed(app, query),
        ])
        return { shown: { matches: kinds.flat() } }
      },
    }),
    names: action('GET /admin/names', {
      doc: 'Returns the names of clients, users and resources by their ids, so that a list of ids can be read.',
      answer: names,
      query: z.strictObject({
        ids: text(8192).min(1, 'must not be empty').describe('Ids, separated by commas, at most 100.'),
      }),
      cli: false,
      async run({ store }, { query }) {
        const ids = [...new Set(query.ids.split(','))].filter((id) => id !== '')
        if (ids.length > MOST_NAMES) throw invalid(`there are more than ${MOST_NAMES} ids`, 'too_many_ids')
        const found = await Promise.all(ids.map(async (id) => [id, await nameOf(store, id)] as const))
        return { shown: { names: Object.fromEntries(found.filter(([, name]) => name !== undefined)) } }
      },
    }),
  },
}
