// What the configuration says about a PostgreSQL server that the server itself shows to be wrong.
import type { TLSSocket } from 'node:tls'
import { connectedTo } from './client.ts'
import type { PostgresPlace } from './connection.ts'

/** A setting to change, and why. */
export interface DatabaseAdvice {
  key: string
  because: string
  instead: string
}

const LOOPBACK = ['127.0.0.1', '::1', '::ffff:127.0.0.1']
const CONNECTIONS = `SELECT current_setting('max_connections')::int AS most, current_setting('superuser_reserved_connections')::int AS reserved`

/** Looks at the server with a connection of its own. Rejects when it cannot be reached. */
export const adviceOn = (place: PostgresPlace & { max_conns: number }): Promise<DatabaseAdvice[]> =>
  connectedTo(place, async (query, client) => {
    const [row] = await query(CONNECTIONS)
    const free = Number(row?.['most']) - Number(row?.['reserved'])
    const { encrypted, remoteAddress } = client.connection.stream as TLSSocket
    return [
      ...(place.max_conns > free
        ? [
            {
              key: 'storage.postgres.max_conns',
              because: `one instance may open ${place.max_conns} connections, and the server accepts ${free} of all clients together (max_connections)`,
              instead: 'a number whose sum over all instances is below max_connections of the server',
            },
          ]
        : []),
      // A socket of this machine has no address.
      ...(!encrypted && remoteAddress && !LOOPBACK.includes(remoteAddress)
        ? [
            {
              key: 'storage.postgres.dsn',
              because: `the connection to PostgreSQL at ${remoteAddress} is not encrypted: it carries keys, hashes and personal data`,
              instead: 'sslmode=verify-full in storage.postgres.dsn',
            },
          ]
        : []),
    ]
  })
