// The clients that ask for tokens much more often than the lifetime of the tokens needs, what that costs, and what to write to their owners.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { int } from '../../lib/field.ts'
import { idFloor, idTime } from '../../lib/id.ts'
import { DAY, formatDuration } from '../../lib/time.ts'
import type { TokenUse } from '../../store/tokens/token_use.ts'
import { type AdminResource, action } from '../action.ts'
import { wasteAnswer } from '../answers/limits.ts'

/** Rows of one read, so that other operations do not wait, and of all reads. On a busy server the report covers less than a day. */
const ROWS = 2000
const MAX_ROWS = 100_000
/** A client is reported when it got this many times the tokens that it needs, and at least this many more. */
const TIMES = 5
const MORE = 100
const MONTH = 30 * DAY

/** What one token costs: docs/performance.md, client_credentials with 100 clients on SQLite. */
const TOKEN_COST = { cpu_us: 151, bytes: 305 }

interface Totals {
  tokens: number
  needed: number
  lifetime: number
  addresses: Set<string>
}

/** The report. `window` is the number of seconds that it covers. */
export async function wasteOf(app: App, limit = Number.POSITIVE_INFINITY) {
  const { window, uses } = await readUses(app)
  const byClient = new Map<string, Totals>()
  for (const use of uses) addTo(byClient, use)
  const wasteful = [...byClient]
    .filter(([, { tokens, needed }]) => tokens >= TIMES * needed && tokens - needed >= MORE)
    .sort(([, a], [, b]) => b.tokens - b.needed - (a.tokens - a.needed))
  const avoidable = wasteful.reduce((sum, [, { tokens, needed }]) => sum + tokens - needed, 0)
  const clients = await Promise.all(
    wasteful.slice(0, limit).map(async ([client_id, totals]) => {
      const client = await app.store.findClient({ client_id })
      return shown(client_id, client?.client_name, totals, window)
    }),
  )
  return {
    window,
    wasteful_clients: wasteful.length,
    avoidable_per_second: rounded(avoidable / window),
    cost_of_token: TOKEN_COST,
    clients,
  }
}

/** The newest tokens of the last day by use, at most MAX_ROWS of them. */
async function readUses({ store, clock }: App): Promise<{ window: number; uses: TokenUse[] }> {
  const now = clock.now()
  const since = idFloor(now - DAY)
  const found = new Map<string, TokenUse>()
  let before: string | undefined = idFloor(now + 1)
  for (let rows = 0; before && rows < MAX_ROWS; rows += ROWS) {
    const page: Awaited<ReturnType<typeof store.readTokenUse>> = await store.readTokenUse({ since, before, rows: ROWS })
    for (const use of page.uses) merge(found, use)
    before = page.next
  }
  return { window: before ? Math.max(1, now - idTime(before)) : DAY, uses: [...found.values()] }
}

function merge(found: Map<string, TokenUse>, use: TokenUse): void {
  const key = `${use.client_id} ${use.use}`
  const known = found.get(key)
  if (!known) return void found.set(key, use)
  known.tokens += use.tokens
  known.lifetime = Math.max(known.lifetime, use.lifetime)
  known.first_at = Math.min(known.first_at, use.first_at)
  known.last_at = Math.max(known.last_at, use.last_at)
}

function addTo(byClient: Map<string, Totals>, { client_id, ip, tokens, lifetime, first_at, last_at }: TokenUse): void {
  const known = byClient.get(client_id) ?? { tokens: 0, needed: 0, lifetime: 0, addresses: new Set() }
  byClient.set(client_id, known)
  known.tokens += tokens
  known.needed += Math.min(tokens, 1 + Math.floor((last_at - first_at) / Math.max(1, lifetime)))
  known.lifetime = Math.max(known.lifetime, lifetime)
  known.addresses.add(ip)
}

function shown(client_id: string, client_name: string | undefined, totals: Totals, window: number) {
  const { tokens, needed, lifetime, addresses } = totals
  const avoidable = Math.round(((tokens - needed) / window) * MONTH)
  const times = rounded(tokens / needed)
  const period = formatDuration(window)
  return {
    client_id,
    ...(client_name === undefined ? {} : { client_name }),
    tokens,
    needed,
    times,
    lifetime,
    addresses: addresses.size,
    month: {
      tokens: avoidable,
      rows: avoidable,
      cpu_hours: rounded((avoidable * TOKEN_COST.cpu_us) / 3.6e9),
      gigabytes: rounded((avoidable * TOKEN_COST.bytes) / 1e9),
    },
    message:
      `Your client ${client_name || client_id} (client_id ${client_id}) requested ${tokens} access tokens within ${period}. ` +
      `A token is valid for up to ${formatDuration(lifetime)}, so that ${needed} would have been enough. ` +
      'Please keep each token until shortly before it expires: expires_in in the token response is its lifetime in seconds.',
  }
}

const rounded = (value: number): number => Number(value.toPrecision(3))

export const statistics: AdminResource = {
  name: 'stats',
  doc: 'Statistics of the service.',
  actions: {
    waste: action('GET /admin/stats/waste', {
      doc: 'Shows the clients that request far more tokens than they need, what these tokens cost in a month, and a message for the owner of each client. It reads the newest 100,000 tokens of the last day.',
      answer: wasteAnswer,
      cli: { command: 'waste', rows: 'clients' },
      tool: { name: 'waste', title: 'Wasted tokens', rows: 'clients' },
      query: z.strictObject({
        limit: int(1, 1000).prefault(20).describe('Maximum number of clients, those that waste most first.'),
      }),
      run: async (app, { query: { limit } }) => ({ shown: await wasteOf(app, limit) }),
    }),
  },
}
