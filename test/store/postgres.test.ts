// The PostgreSQL driver, by the rules of every driver.
import { afterAll, beforeAll } from 'vitest'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { conformance } from './conformance.ts'
import { openPostgresStore } from './postgres_server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

conformance(() => openPostgresStore(server))
