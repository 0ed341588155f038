// The tokens that clients got in the last 24 hours: from the record, and beyond a thousand from the stored sums.
import type { App } from '../../context.ts'
import { idFloor, idTime } from '../../lib/id.ts'
import { DAY, HOUR } from '../../lib/time.ts'
import type { Client } from '../../records/client.ts'
import { readSums } from '../activity/history.ts'
import { invalid } from '../outcome.ts'

/** One period for all rows. */
const ALL = HOUR * 1_000_000
/** Of the busiest clients, this many are looked at for a filter. */
const MOST = 2000

/** The tokens of a client in the last 24 hours. In a minute in which more than a hundred clients were busier, they are not counted. */
async function countTokens24h(app: App, client_id: string): Promise<number> {
  const now = app.clock.now()
  const rows = await readSums(app, 'client', { from: now - DAY, until: now + HOUR, width: 600 }, client_id)
  return rows.reduce((sum, { issued }) => sum + issued, 0)
}

/** Maximum number of tokens that are counted in the record for a client. Of more, the stored sums are shown. */
const COUNTED = 1000

/** Adds to clients when they last got a token, and how many in the last 24 hours. */
export async function withActivity(app: App, found: Client[]) {
  const { store, clock } = app
  const client_ids = found.map(({ client_id }) => client_id)
  const seen = await store.readClientActivity({ client_ids, since: idFloor(clock.now() - DAY), cap: COUNTED })
  return Promise.all(
    found.map(async (client, i) => {
      const { last_id, tokens = 0 } = seen[i] ?? {}
      const last_used_at = last_id === undefined ? client.last_used_at : idTime(last_id)
      const tokens_24h = tokens > COUNTED ? Math.max(tokens, await countTokens24h(app, client.client_id)) : tokens
      return { client: { ...client, last_used_at }, tokens_24h }
    }),
  )
}

interface Page {
  status?: Client['status'] | undefined
  source?: Client['registration_source'] | undefined
  q?: string | undefined
  after?: string | undefined
  offset: number
  limit: number
}

/** A page of the clients that got tokens in the last 24 hours (whole hours), those with the most first. */
export async function clientsByTokens(app: App, { status, source, q, after, offset, limit }: Page): Promise<Client[]> {
  const now = app.clock.now()
  const rows = await readSums(app, 'client', { from: now - DAY, until: now + HOUR, width: ALL })
  const tokens = new Map<string, number>()
  for (const { name, issued } of rows) if (name && issued > 0) tokens.set(name, (tokens.get(name) ?? 0) + issued)
  const ids = [...tokens].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([id]) => id)
  const start = after === undefined ? 0 : ids.indexOf(after) + 1
  if (after !== undefined && start === 0) throw invalid('after names no client', 'unknown_place')
  const wanted = q?.toLowerCase()
  const found: Client[] = []
  for (const client_id of ids.slice(start, start + MOST)) {
    if (found.length === offset + limit) break
    const client = await app.store.findClient({ client_id })
    if (!client || (status && client.status !== status) || (source && client.registration_source !== source)) continue
    const text = `${client.client_name}\n${client_id}`.toLowerCase()
    if (wanted === undefined || text.includes(wanted)) found.push(client)
  }
  return found.slice(offset)
}
