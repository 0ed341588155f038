// The lanes of the tests. `npm test` runs the fast one, which every change must pass; `npm run test:slow` runs what takes long or
// needs other tool chains. `npx vitest run PATH` finds a file in either lane.
import { defineConfig } from 'vitest/config'

/** Slow, and right beside each other: they draw many pages, start many processes, or build a package. */
const BESIDE = [
  'test/attacks/{i_hostile_documents,w_revocations}.test.ts',
  'test/cli/{first_steps,long_revocation,prune,purge,setup,setup_deletions}.test.ts',
  // The commands of every page, each with a server.
  'test/docs/commands.test.ts',
  'test/faults/**/*.test.ts',
  'test/http/silent_connections.test.ts',
  // Clients in other languages, where their tool chains are, and balancers.
  'test/interop/{agents,balancers,dex,go,java,keycloak,keycloak_events,keycloak_scim,mcp_conformance,pyjwt,python,python_servers,revocations,rust,scim,single_actions,spire,standard_webhooks,typescript}.test.ts',
  'test/flows/{broker_instances,broker_sequences,client_limits_process,feature_pairs,front_threads,instances_history,single_actions_instances,transit}.test.ts',
  'test/fuzz/**/*.test.ts',
  // Every page in every width and both colour schemes.
  'test/{pages,ui}/appearance.test.ts',
  // They print how long it takes.
  'test/scim/{import,leaving}_time.test.ts',
  'test/store/postgres_{connection,faults,instances,migrate,partitions}.test.ts',
  'test/telemetry/{alerts,deploy}.test.ts',
  'test/tools/{api_document,deploy_tools,image,image_files,package}.test.ts',
  // The fast lane has the pages of a sign-in, and the gate of the admin page.
  'test/pages/{branding,oidc,passkeys,password_link,tabs}.test.ts',
  'test/ui/{access,capability,clients,connect,desk,events,explain,history,hostile,incidents,instances,jobs,kept,pages,provider_card,search,tasks,try}.test.ts',
]

/** Slow, and two at a time: they mostly wait for servers that fail, with bounds of time that a busy machine would exceed. */
const WAITING = [
  'test/faults/failover/*.test.ts',
  'test/faults/{back_in_time,postgres_silence,rollout,slow_names}.test.ts',
  'test/flows/instances_{limits,silent}.test.ts',
]

/** Slow, and one after the other: they measure. */
const ALONE = [
  'test/bench/**/*.test.ts',
  'test/faults/{anonymous_load,events_record,overload}.test.ts',
  // It measures the heap of its process.
  'test/lib/memory.test.ts',
  'test/packages/resource_server_memory.test.ts',
  'test/soak/**/*.test.ts',
  'test/torture/**/*.test.ts',
]

/** Products of others, which `npm run products` runs by hand: to build them takes minutes. */
const PRODUCTS = ['test/products/**/*.test.ts']

export default defineConfig({
  test: {
    setupFiles: ['test/support/setup.ts'],
    globalSetup: ['test/support/shared_servers.ts'],
    // Processes, not threads: a thread that ends while a native HTTP engine is open would abort everything.
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    reporters: ['default', './test/support/reporter.ts'],
    projects: [
      // A few processes for all files, because loading the modules anew for each file took most of the time. More than the
      // two cores of CI: a file that waits for a process or a time-out leaves its core to another one.
      lane('fast', ['test/**/*.test.ts'], {
        exclude: [...BESIDE, ...WAITING, ...ALONE, ...PRODUCTS],
        isolate: false,
        maxWorkers: 4,
        globalSetup: ['test/support/temp_in_memory.ts'],
        sequence: { groupOrder: 0 },
      }),
      // More than two here too. A file may wait for the processors of the others.
      lane('slow', BESIDE, {
        exclude: [...WAITING, ...ALONE],
        isolate: false,
        maxWorkers: 3,
        testTimeout: 90_000,
        sequence: { groupOrder: 1 },
      }),
      lane('slow-waiting', WAITING, { isolate: false, maxWorkers: 2, sequence: { groupOrder: 2 } }),
      lane('slow-alone', ALONE, { maxWorkers: 1, sequence: { groupOrder: 3 } }),
      lane('products', PRODUCTS, { maxWorkers: 1, testTimeout: 90_000, sequence: { groupOrder: 4 } }),
    ],
  },
})

/** A project of vitest: groups run one after the other, so that a path with files of several lanes is measured alone too. */
function lane(name: string, include: string[], test: object) {
  return { extends: true as const, test: { name, include, ...test } }
}
