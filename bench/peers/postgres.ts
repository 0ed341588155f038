// A private PostgreSQL for a run, in a process of its own that ends with it. Every commit is forced to disk, as in production.
import { onPlans } from '../run/children.ts'
import { type PrivatePostgres, startPrivatePostgres } from './postgres_server.ts'

/** The parent process removes it too, because this process may be killed. */
export interface PostgresPlan {
  folder: string
}

let server: Promise<PrivatePostgres> | undefined
let removed: Promise<void> | undefined

// A second signal must not interrupt the shutdown, and a signal during the start waits until there is something to remove.
const remove = () => {
  removed ??= (async () => (await server)?.remove())().catch(() => {})
  void removed.then(() => process.exit(0))
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, remove)

onPlans<PostgresPlan>(async ({ folder }) => {
  server = startPrivatePostgres({ fsync: true, folder })
  return { dsn: (await server).dsn }
})
