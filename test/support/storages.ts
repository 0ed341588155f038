// Both databases, for tests that a service on each must pass.
import { afterAll, beforeAll } from 'vitest'
import { tempFolder } from './folder.ts'
import { startPostgres } from './postgres.ts'

/** Name and environment of a service on each database; on PostgreSQL each has a database of its own. Starts a server for the file. */
export function storages(): [name: string, env: () => Promise<Record<string, string>>][] {
  let server: Awaited<ReturnType<typeof startPostgres>>
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.close())
  return [
    ['SQLite', async () => ({})],
    [
      'PostgreSQL',
      async () => ({
        SERVICE_STORAGE_DRIVER: 'postgres',
        SERVICE_STORAGE_POSTGRES_DSN: await server.migrated(),
        SERVICE_SIGNING_KEY_PATH: tempFolder(),
      }),
    ],
  ]
}
