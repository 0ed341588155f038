// The server processes of connections that were given up.
import pg from 'pg'
import { expect, test } from 'vitest'
import { Backends } from '../../src/store/postgres/backends.ts'
import { startPostgres } from '../support/postgres.ts'

test('closing the pool does not wait for an abandoned connection', async () => {
  const server = await startPostgres()
  const client = new pg.Client({ connectionString: await server.database() })
  await client.connect()
  const backends = new Backends()
  await backends.identify(client)
  const before = backends.gone(client)
  backends.close()
  await before
  await expect(Promise.race([backends.gone(client), new Promise((_, late) => setTimeout(late, 5000))])).resolves.toBe(
    undefined,
  )
  await client.end()
  await server.close()
})
