// Two instances of one service on one PostgreSQL database, with the same keys and secrets.
import { newId } from '../../src/lib/id.ts'
import { tempFolder } from './folder.ts'
import { startService, type TestService } from './service.ts'

export interface Pair {
  a: TestService
  b: TestService
  close(): Promise<void>
}

/** Starts both on the database of a DSN; `env` is for both, and `start` starts one instance. */
export async function startPair(
  dsn: string,
  env: Record<string, string> = {},
  start: (env: Record<string, string>) => Promise<TestService> = startService,
): Promise<Pair> {
  const shared = {
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_DSN: dsn,
    SERVICE_STORAGE_POSTGRES_MAX_CONNS: '10',
    SERVICE_SIGNING_KEY_PATH: tempFolder(),
    SERVICE_SESSION_SECRET: newId() + newId(),
    ...env,
  }
  const a = await start(shared)
  const b = await start({ ...shared, SERVICE_SERVER_ISSUER: a.issuer })
  return {
    a,
    b,
    async close() {
      await Promise.all([a.close(), b.close()])
    },
  }
}
