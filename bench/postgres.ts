// A private PostgreSQL for a run, in a process of its own that ends with it. Every commit is forced to disk, as in production.
import { onPlans } from '../src/bench/children.ts'
import { startPrivatePostgres } from './postgres_server.ts'

onPlans<object>(async () => {
  const { dsn, remove } = await startPrivatePostgres({ fsync: true })
  process.once('SIGTERM', () => void remove().finally(() => process.exit(0)))
  return { dsn }
})
