// What clients use their tokens for, from the record of issued tokens.
import { all, idBytes, idText, maybeStr, num, type Op, one, str } from '../op.ts'

/** The tokens of one use: the same client, subject, resource, scope, key, actor and address. One live token at a time is enough for it. */
export interface TokenUse {
  client_id: string
  /** Identifies the use among those of the client. */
  use: string
  ip: string
  tokens: number
  /** Lifetime of its tokens in seconds. */
  lifetime: number
  first_at: number
  last_at: number
}

/** The uses of the newest `rows` tokens between two ids. Tokens of providers are left out, because a provider decides on their lifetime. */
export function* readTokenUse(w: {
  since: string
  before: string
  rows: number
}): Op<{ uses: TokenUse[]; next?: string | undefined }> {
  const last = yield* one`SELECT id FROM issuances WHERE id >= ${idBytes(w.since)} AND id < ${idBytes(w.before)}
    ORDER BY id DESC LIMIT 1 OFFSET ${w.rows - 1}`
  const first = (last?.id as Buffer | undefined) ?? idBytes(w.since)
  const rows = yield* all`SELECT client_id, sub, resource, scope, jkt, act, ip, count(*) AS tokens,
      max(expires_at - issued_at) AS lifetime, min(issued_at) AS first_at, max(issued_at) AS last_at
    FROM issuances WHERE id >= ${first} AND id < ${idBytes(w.before)} AND broker_provider IS NULL
    GROUP BY client_id, sub, resource, scope, jkt, act, ip`
  const uses = rows.map((row) => ({
    client_id: str(row.client_id),
    use: JSON.stringify([row.sub, row.resource, row.scope, row.jkt, row.act, row.ip].map(maybeStr)),
    ip: str(row.ip),
    tokens: num(row.tokens),
    lifetime: num(row.lifetime),
    first_at: num(row.first_at),
    last_at: num(row.last_at),
  }))
  return { uses, next: last && idText(last.id) }
}
