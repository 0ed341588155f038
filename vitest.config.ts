// The lanes of the tests. `npm test` runs the fast one, which every change must pass; `npm run test:slow` runs what takes long or
// needs other tool chains. `npx vitest run PATH` finds a file in either lane.
import { defineConfig } from 'vitest/config'

/** Everything that is not named here is in the fast lane. */
const SLOW = [
  'test/bench/**/*.test.ts',
  'test/docs/commands.test.ts',
  // They wait for time-outs of seconds, start many processes, or need the machine for themselves.
  'test/faults/**/*.test.ts',
  'test/flows/instances_{history,limits,silent}.test.ts',
  'test/store/postgres_{connection,faults,instances}.test.ts',
  'test/fuzz/**/*.test.ts',
  // Clients in other languages, where their tool chains are.
  'test/interop/{dex,go,java,keycloak,pyjwt,python,python_servers,rust,spire,typescript}.test.ts',
  // Every page in every width and both colour schemes.
  'test/{pages,ui}/appearance.test.ts',
  'test/ui/hostile.test.ts',
  'test/soak/**/*.test.ts',
  'test/tools/package.test.ts',
  'test/torture/**/*.test.ts',
]

export default defineConfig({
  test: {
    setupFiles: ['test/support/setup.ts'],
    globalSetup: ['test/support/shared_servers.ts'],
    // Processes, not threads: a thread that ends while a native HTTP engine is open would abort everything.
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/reporter.ts'],
    projects: [
      {
        extends: true,
        // A few processes for all files, because loading the modules anew for each file took most of the time. One more than the
        // two cores of CI: a file that waits for a process or a time-out leaves its core to another one.
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: SLOW,
          isolate: false,
          maxWorkers: 3,
          globalSetup: ['test/support/temp_in_memory.ts'],
        },
      },
      // One after the other, because they measure; after the fast lane, where a path has files of both.
      { extends: true, test: { name: 'slow', include: SLOW, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
})
