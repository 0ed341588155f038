import { expect, test } from 'vitest'
import { beginUsage } from '../../bench/run/probe.ts'
import { restMicros } from '../../src/telemetry/proc.ts'

test('idle time includes time spent waiting for a disk', () => {
  expect(restMicros('cpu  1154270 58630 253927 1938439 27683 0 31203 4758 0 0\ncpu0 1 1 1 1 1 1 1')).toBe(
    19_661_220_000,
  )
  expect(restMicros('')).toBeNaN()
})

const isLinux = process.platform === 'linux'
test.runIf(isLinux)('bursts shorter than a tick of the kernel are included in the used CPU time', async () => {
  const end = await beginUsage({ pid: process.pid }, () => 0)
  const untilMs = performance.now() + 1500
  while (performance.now() < untilMs) {
    const burstMs = performance.now() + 0.4
    while (performance.now() < burstMs);
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const { machine_us, cpu_us } = await end()
  const mine = Object.values(cpu_us).reduce((sum, us) => sum + us, 0)
  expect(mine).toBeGreaterThan(100_000)
  // Both values are read one after the other, and idle time has steps of 10 ms for each processor.
  expect(machine_us).toBeGreaterThan(mine - 50_000)
})
