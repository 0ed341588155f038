// Fills a database with issuances before a measurement, through the operations of the store, as if the service had run for long. It is a
// process of its own, so that the memory of a run does not depend on it.
import { loadConfig } from '../../src/config/load.ts'
import { withStore } from '../../src/store/work.ts'
import { onPlans } from './children.ts'
import { storageEnv } from './databases.ts'
import { populate } from './populate.ts'
import type { BenchDatabase } from './probe.ts'

interface FillPlan {
  database: BenchDatabase
  rows: number
}

onPlans<FillPlan>(async ({ database, rows }) => {
  const { config } = loadConfig(undefined, storageEnv(database))
  const population = { clients: 1000, users: 1000, issuances: rows, expired: 0 }
  await withStore(config, (store) => populate(store, population), true)
  return { rows }
})
