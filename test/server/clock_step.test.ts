// Steps of the clock of the machine.
import { afterEach, expect, test, vi } from 'vitest'
import { watchClock } from '../../src/server/clock_step.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('a step of the clock is logged once, with its size, and a slow correction is not', () => {
  vi.useFakeTimers()
  let [clock, steady] = [1_000_000, 5000]
  const lines: unknown[][] = []
  const unwatch = watchClock(
    { warn: (...line: unknown[]) => void lines.push(line) },
    () => clock,
    () => steady,
    5000,
  )
  const pass = (clockMs: number) => {
    steady += 5000
    clock += clockMs
    vi.advanceTimersByTime(5000)
  }
  pass(5000)
  pass(5400)
  expect(lines).toEqual([])
  pass(5000 - 90_000)
  pass(5000)
  expect(lines).toEqual([[{ seconds: -90 }, expect.stringContaining('was set back')]])
  pass(5000 + 30_000)
  expect(lines[1]).toEqual([{ seconds: 30 }, expect.stringContaining('was set forward')])
  unwatch()
  pass(5000 + 30_000)
  expect(lines).toHaveLength(2)
})
