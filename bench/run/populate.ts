// Fills a database with the rows of a service that has run for a long time: accounts, tokens of the last day, and expired rows.
import { newId } from '../../src/lib/id.ts'
import { DAY } from '../../src/lib/time.ts'
import { newUserId } from '../../src/oauth/clients/client_metadata.ts'
import type { Client } from '../../src/records/client.ts'
import type { Issuance } from '../../src/records/issuance.ts'
import type { User } from '../../src/records/user.ts'
import type { Store } from '../../src/store/index.ts'

export interface Population {
  clients: number
  users: number
  issuances: number
  /** Expired sessions. */
  expired: number
}

/** Ids of some of the rows, for queries. */
export interface Known {
  client_id: string
  user_id: string
  issuance_id: string
  /** A resource of few tokens. */
  rare_resource: string
}

const AT_ONCE = 2000
const RESOURCES = 20
/** One of this many tokens is for the rare resource. */
const RARE = 10_000

/** Writes a population through the operations of the store. Tokens are spread over the last day, and all of them are live. */
export async function populate(store: Store, { clients, users, issuances, expired }: Population): Promise<Known> {
  const now = Math.floor(Date.now() / 1000)
  const clientIds = Array.from({ length: clients }, () => `c_${newId()}`)
  const userIds = Array.from({ length: users }, newUserId)
  const of = (ids: readonly string[], i: number) => ids[i % ids.length] as string
  await inBatches(clients, (i) => store.createClient(aClient(of(clientIds, i), now - clients + i)))
  await inBatches(users, (i) => store.createUser(aUser(of(userIds, i), i, now - users + i)))
  const issuance = (i: number): Issuance => {
    const issued_at = Math.floor(now - DAY + (i * DAY) / issuances)
    const ofUser = i % 2 === 0
    return {
      id: idAt(issued_at),
      grant_type: ofUser ? 'authorization_code' : 'client_credentials',
      client_id: of(clientIds, i * 7),
      sub: ofUser ? of(userIds, i * 3) : of(clientIds, i * 7),
      resource: i % RARE === 1 ? resourceUri(RESOURCES) : resourceUri(i % RESOURCES),
      scope: 'mcp:read mcp:write',
      issued_at,
      expires_at: now + DAY,
      kid: 'k1',
      is_agent: false,
      ip: '192.0.2.1',
    }
  }
  await inBatches(issuances, (i) => store.recordIssuance(issuance(i)))
  await inBatches(expired, (i) => {
    const created_at = now - 2 * DAY
    return store.createSession({ id: newId(), user_id: of(userIds, i), created_at, expires_at: created_at + 3600 })
  })
  const [client_id, user_id] = [of(clientIds, 7), of(userIds, 6)]
  const [last] = await store.listIssuances({ since: '', limit: 1 })
  return { client_id, user_id, issuance_id: last?.id ?? '', rare_resource: resourceUri(RESOURCES) }
}

const resourceUri = (i: number) => `https://resource-${i}.example.com/mcp`

/** An id of a given time: its first six bytes are the milliseconds. */
function idAt(seconds: number): string {
  const bytes = Buffer.from(newId(), 'base64url')
  bytes.writeUIntBE(seconds * 1000, 0, 6)
  return bytes.toString('base64url')
}

// Many are written concurrently: the queues of both drivers combine them into batches.
async function inBatches(count: number, write: (i: number) => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, i) => write(done + i)))
}

const aClient = (client_id: string, issued_at: number): Client => ({
  client_id,
  client_name: 'Other client',
  redirect_uris: ['https://client.example.com/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  application_type: 'web',
  scope: 'mcp:read mcp:write',
  status: 'active',
  registration_source: 'dcr',
  is_agent: false,
  agent_description: '',
  dpop_bound_access_tokens: false,
  version: 1,
  issued_at,
  updated_at: issued_at,
})

const aUser = (id: string, number: number, created_at: number): User => ({
  id,
  email: `user-${number}@example.com`,
  name: 'Other user',
  role: 'user',
  status: 'active',
  provider: 'local',
  email_verified: true,
  operator_groups: [],
  provider_groups: [],
  version: 1,
  created_at,
  updated_at: created_at,
})
