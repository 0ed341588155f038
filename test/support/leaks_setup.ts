// Every file of tests under watch: after its last test, no secret of any of them may be anywhere.
import { afterAll, expect } from 'vitest'
import { LeakWatch } from './leaks.ts'

const watch = await LeakWatch.start()
afterAll(() => {
  const findings = watch.findings()
  watch.end()
  expect(findings).toEqual([])
})
