// How `npm test` runs. Processes, not threads: a thread that ends while a native HTTP engine is open would abort everything.
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    setupFiles: ['test/support/key_export.ts'],
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/reporter.ts'],
  },
})
