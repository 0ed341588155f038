import { expect, test } from 'vitest'
import { Histogram } from '../../bench/load/histogram.ts'

test('a percentile is right to about one percent, over six decades', () => {
  const histogram = new Histogram()
  for (let i = 1; i <= 10_000; i++) histogram.record(i / 100)
  for (const [q, exact] of [
    [0.5, 50],
    [0.95, 95],
    [0.99, 99],
    [0.999, 99.9],
  ] as const) {
    expect(histogram.percentile(q)).toBeGreaterThanOrEqual(exact)
    expect(histogram.percentile(q)).toBeLessThanOrEqual(exact * 1.012)
  }
  const wide = new Histogram()
  for (const ms of [0.002, 2, 2000]) wide.record(ms, 10)
  expect(wide.percentile(0.3) / 0.002).toBeCloseTo(1, 1)
  expect(wide.percentile(0.99) / 2000).toBeCloseTo(1, 1)
  expect(wide.percentiles().max).toBe(2000)
})

test('what two counted is as if one had counted it', () => {
  const [all, odd, even] = [new Histogram(), new Histogram(), new Histogram()]
  for (let i = 1; i <= 1000; i++) {
    all.record(i)
    ;(i % 2 ? odd : even).record(i)
  }
  odd.add(even)
  expect(odd).toEqual(all)
})

test('without a value there is no percentile', () => {
  expect(new Histogram().percentiles().p99).toBeNaN()
})

test('its memory does not grow with the number of values', () => {
  const histogram = new Histogram()
  for (let i = 0; i < 100_000; i++) histogram.record((i % 1000) / 10)
  expect(histogram.count).toBe(100_000)
  expect(JSON.stringify(histogram).length).toBeLessThan(20_000)
})
