// Client activity: the last steps of each client, for an operator who looks for the reason of a failure.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { bool, int, text } from '../../lib/field.ts'
import { dated, rfc3339 } from '../../lib/time.ts'
import { type ClientActivity, lastMinutes } from '../../telemetry/client_activity.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/activity.ts'
import { type BusyClient, busyClients } from './busy_clients.ts'

/** The activity of one client as the admin API shows it. */
export const shownActivity = (trail: ClientActivity, now: number) => ({
  client_id: trail.client_id,
  address: trail.address,
  began_at: rfc3339(trail.began_at),
  failing: (trail.steps.at(-1)?.status ?? 0) >= 400,
  last_5_minutes: lastMinutes(trail, now),
  steps: trail.steps.map(dated),
})

const shownBusy = ({ client, reason, ...counts }: BusyClient, all: number) => ({
  client_id: client.client_id,
  client_name: client.client_name,
  status: client.status,
  limits: client.limits,
  ...counts,
  share: Math.round((counts.requests / Math.max(1, all)) * 1000) / 1000,
  reason,
})

/** The stored failures of a client. A redirect URI stands beside those that the client has now. */
async function failuresOf({ store }: App, client_id: string) {
  const [failures, client] = await Promise.all([
    store.listClientFailures({ client_id }),
    store.findClient({ client_id }),
  ])
  return failures.map((failure) => ({
    ...dated(failure),
    ...(failure.reason === 'unregistered_redirect_uri' && client ? { allowed: client.redirect_uris } : {}),
  }))
}

/** The activity of all threads of this process, latest first. */
export const activityOf = async ({ activity, frontPool }: Pick<App, 'activity' | 'frontPool'>) =>
  frontPool ? await frontPool.activity() : activity.list()

export const connections: AdminResource = {
  name: 'connection',
  doc: 'Client activity: the last steps of each client and address, from memory.',
  columns: ['client_id', 'address', 'began_at', 'failing'],
  actions: {
    list: action('GET /admin/connections', {
      doc: 'Lists client activity, latest first, with the reason of every failure.',
      answer: z.array(answers.trail),
      tool: { name: 'client_connections', title: 'What clients did last', rows: 'connections', reasons: true },
      query: z.strictObject({
        client_id: text(2048).optional().describe('Only activity of this client.'),
        address: text(64).optional().describe('Only activity from this address.'),
        failing: bool()
          .optional()
          .describe(
            'With true only activity whose last step failed, with false only activity whose last step succeeded.',
          ),
        limit: int(1, 2000).prefault(100).describe('Maximum number of items.'),
      }),
      run: async (app, { query: { client_id, address, failing, limit } }) => ({
        shown: (await activityOf(app))
          .filter((trail) => client_id === undefined || trail.client_id === client_id)
          .filter((trail) => address === undefined || trail.address === address)
          .map((trail) => shownActivity(trail, app.clock.now()))
          .filter((trail) => failing === undefined || trail.failing === failing)
          .slice(0, limit),
      }),
    }),
    top: action('GET /admin/connections/top', {
      doc: 'Lists the registered clients of the last five minutes, the busiest first: requests, tokens, refusals and the share of each in all requests.',
      answer: z.array(answers.busyClient),
      query: z.strictObject({ limit: int(1, 100).prefault(10).describe('Maximum number of clients.') }),
      run: async (app, { query: { limit } }) => {
        const activity = await activityOf(app)
        const now = app.clock.now()
        const all = activity.reduce((sum, trail) => sum + lastMinutes(trail, now).requests, 0)
        const busy = await busyClients(app, activity)
        return { shown: busy.slice(0, limit).map((each) => shownBusy(each, all)) }
      },
    }),
    failures: action('GET /admin/connections/failures', {
      doc: 'Lists the last 20 different failures of a client, latest first, with the value that was refused beside those that are allowed. They are stored at the end of each minute and kept for 90 days.',
      answer: z.array(answers.failure),
      tool: { name: 'client_failures', title: 'Why requests of a client failed', rows: 'failures' },
      query: z.strictObject({ client_id: text(2048).describe('The client.') }),
      run: async (app, { query: { client_id } }) => ({ shown: await failuresOf(app, client_id) }),
    }),
  },
}
