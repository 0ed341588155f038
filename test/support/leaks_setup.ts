// Checks every test file for leaks: after its last test, none of its secrets may be in any output.
import { afterAll, expect } from 'vitest'
import { LeakWatch } from './leaks.ts'

const watch = await LeakWatch.start()
afterAll(() => {
  const findings = watch.findings()
  watch.end()
  expect(findings).toEqual([])
})
