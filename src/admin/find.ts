// The admin operation that finds a record by what an operator has at hand: an id, a name, an address, a jti, or the id of a request.
import { z } from 'zod'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { text } from '../lib/field.ts'
import { isId } from '../lib/id.ts'
import { type Action, type AdminResource, action, type Recorder } from './action.ts'
import { trail } from './answers/activity.ts'
import * as answers from './answers/answers.ts'
import { own } from './answers/own_words.ts'
import { eventsOfRequest } from './audit.ts'
import { clients } from './clients/clients.ts'
import { activityOf, shownActivity } from './clients/connections.ts'
import { issuances } from './issuances.ts'
import { users } from './people/users.ts'
import { resources } from './resources/resources.ts'

/** Items of one kind that a search by name returns. */
const MOST = 20
/** Longest text that lists search for (lists.ts). */
const LONGEST_TEXT = 256

const match = z.union([
  answers.client.extend({ kind: z.literal('client') }),
  answers.user.extend({ kind: z.literal('user') }),
  answers.resource.extend({ kind: z.literal('resource') }),
  answers.issuance.extend({ kind: z.literal('token') }),
  z.strictObject({
    kind: z.literal('request'),
    request_id: own(),
    events: z.array(answers.auditEvent).describe('Audit events of the request.'),
    activity: z.array(trail).describe('What the callers of the request did last, from memory.'),
  }),
])

const found = z.strictObject({
  matches: z.array(match).describe('The records, each as its own operation shows it, with its kind.'),
})

type Rows = Record<string, unknown>[]

/** The rows that a list operation shows for a query. */
async function listed(app: App, list: Action | undefined, query: object, by: Recorder): Promise<Rows> {
  if (!list) return []
  const input = { params: {}, body: {}, query: (list.query ?? z.strictObject({})).parse(query) }
  const { shown } = await list.run(app, input, by)
  return shown as Rows
}

/** No record has the name. Any other failure is one of the search: it does not mean that nothing was found. */
function absent(error: unknown): undefined {
  if (!(error instanceof OAuthError) || error.code !== 'not_found') throw error
}

/** The record with exactly this name or id, and the records whose texts contain it. */
async function byNameOrText(
  app: App,
  kind: string,
  { actions: { get, list } }: AdminResource,
  query: string,
  by: Recorder,
): Promise<Rows> {
  const rows = query.length > LONGEST_TEXT ? [] : await listed(app, list, { q: query, limit: String(MOST) }, by)
  const [param = 'id'] = /(?<=\{)\w+/.exec(get?.path ?? '') ?? []
  const exact = await get
    ?.run(app, { params: { [param]: query }, query: {}, body: {} }, by)
    .then(({ shown }) => shown as Rows[number])
    .catch(absent)
  const id = kind === 'client' ? 'client_id' : 'id'
  const others = rows.filter((each) => each[id] !== exact?.[id])
  // A list shows less of a client than its own operation, so that the answer of one that is named exactly is read as the list shows it.
  const first = exact && (rows.find((each) => each[id] === exact[id]) ?? withoutSecretList(exact))
  return [...(first ? [first] : []), ...others].map((each) => ({ kind, ...each }))
}

const withoutSecretList = ({ secrets: _secrets, ...rest }: Record<string, unknown>) => rest

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

async function tokenNamed({ actions: { get } }: AdminResource, app: App, id: string, by: Recorder): Promise<Rows> {
  if (!isId(id)) return []
  const token = await get?.run(app, { params: { id }, query: {}, body: {} }, by).catch(absent)
  if (!token) return []
  const { active: _active, act: _act, claims: _claims, ...shown } = token.shown as Record<string, unknown>
  return [{ kind: 'token', ...shown }]
}

export const finding: AdminResource = {
  name: 'find',
  doc: 'Search by whatever names a record.',
  actions: {
    find: action({
      method: 'GET',
      path: '/admin/find',
      doc: 'Finds clients, users, resources, tokens and requests by an id, a name, an email, a URI, a jti, or a request_id.',
      answer: found,
      query: z.strictObject({
        query: text(2048)
          .min(1, 'must not be empty')
          .describe('An id, a part of a name, an email, a URI or slug, the jti of a token, or the id of a request.'),
      }),
      cli: { command: 'find', rows: 'matches' },
      tool: { name: 'find', title: 'Find a record', rows: 'matches', reasons: true },
      async run(app, { query: { query } }, by) {
        const kinds = await Promise.all([
          byNameOrText(app, 'client', clients, query, by),
          byNameOrText(app, 'user', users, query, by),
          byNameOrText(app, 'resource', resources, query, by),
          tokenNamed(issuances, app, query, by),
          requestNamed(app, query),
        ])
        return { shown: { matches: kinds.flat() } }
      },
    }),
  },
}
