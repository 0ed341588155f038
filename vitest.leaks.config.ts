// How `npm run leaks` runs: the flows and attacks of the other tests under the watch of test/support/leaks.ts.
import { defineConfig, mergeConfig } from 'vitest/config'
import shared from './vitest.config.ts'

export default mergeConfig(
  shared,
  defineConfig({
    test: {
      setupFiles: ['test/support/leaks_setup.ts'],
      testTimeout: 120_000,
      hookTimeout: 120_000,
    },
  }),
)
