// How `npm run leaks` runs: the flows and attacks of the other tests under the watch of test/support/leaks.ts.
import { defineConfig } from 'vitest/config'
import shared from './vitest.config.ts'

export default defineConfig({
  test: {
    ...shared.test,
    // In one process for each file, because the watch is for one file.
    projects: undefined,
    include: ['test/{attacks,flows}/**/*.test.ts'],
    setupFiles: ['test/support/setup.ts', 'test/support/leaks_setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
})
