// Fills a database with issuances before a measurement, through the operations of the store, as if the service had run for a long
// time. It is a process of its own, so that the memory of a run does not depend on it.
import { loadConfig } from '../../src/config/load.ts'
import { newId } from '../../src/lib/id.ts'
import type { Issuance } from '../../src/records/issuance.ts'
import type { Store } from '../../src/store/index.ts'
import { withStore } from '../../src/store/work.ts'
import { onPlans } from './children.ts'
import { storageEnv } from './databases.ts'
import { inBatches } from './populate.ts'
import type { BenchDatabase } from './probe.ts'

interface FillPlan {
  database: BenchDatabase
  rows: number
}

const CLIENTS = 1000
const LIFE = 3600

onPlans<FillPlan>(async ({ database, rows }) => {
  const { config } = loadConfig(undefined, storageEnv(database))
  await withStore(config, (store) => fill(store, rows), true)
  return { rows }
})

async function fill(store: Store, rows: number): Promise<void> {
  const now = Math.floor(Date.now() / 1000)
  const clients = Array.from({ length: CLIENTS }, newId)
  const kid = newId()
  const issuance = (number: number): Issuance => ({
    id: newId(),
    grant_type: 'client_credentials',
    client_id: clients[number % CLIENTS] as string,
    sub: clients[number % CLIENTS] as string,
    resource: 'https://mcp.example.com/mcp',
    scope: 'mcp:read mcp:write',
    issued_at: now,
    expires_at: now + LIFE,
    kid,
    is_agent: false,
    ip: '127.0.0.1',
  })
  await inBatches(rows, (i) => store.recordIssuance(issuance(i)))
}
