// Clients as 0.2.0 stored them, and what becomes of their secrets.
import { NOW } from '../support/records.ts'

const HASH = 'ab'.repeat(32)

/** Statements that store two clients with a secret, of which one was rotated, and a public one. `bytes` writes bytes of hex digits. */
export function olderClients(bytes: (hex: string) => string): string[] {
  const client = (id: string, secret: string) =>
    `INSERT INTO clients (client_id, secret_hash, client_name, redirect_uris, grant_types, response_types, token_endpoint_auth_method, scope, status, registration_source, is_agent, agent_description, dpop_bound_access_tokens, version, issued_at, updated_at)
     VALUES ('${id}', ${secret}, '', '[]', '[]', '[]', 'none', '', 'active', 'admin', 0, '', 0, 1, ${NOW}, ${NOW})`
  const rotation = (at: number) =>
    `INSERT INTO audit_events (id, action, actor_id, client_id, ip, detail, created_at)
     VALUES (${bytes(String(at).padEnd(32, '0'))}, 'client_secret_rotated', 'admin', 'rotated', '', '{}', ${at})`
  return [
    client('public', 'NULL'),
    client('rotated', bytes(HASH)),
    client('untouched', bytes(HASH)),
    rotation(NOW + 5),
    rotation(NOW + 9),
  ]
}

const carriedOver = (created_at: number) => JSON.stringify([{ id: 'first', hash: HASH, created_at }])
/** The secrets of these clients after the migration, by client id. */
export const CARRIED_OVER = [
  { client_id: 'public', secrets: null },
  { client_id: 'rotated', secrets: carriedOver(NOW + 9) },
  { client_id: 'untouched', secrets: carriedOver(NOW) },
]
