// Histograms: quantiles of both scales, and counts that move between threads.
import { describe, expect, test } from 'vitest'
import { bounded, Histogram, logarithmic } from '../../src/lib/histogram.ts'

const fine = logarithmic(0.001, 64)

describe('logarithmic buckets', () => {
  test('a quantile is at most one percent too high, over six decades', () => {
    const histogram = new Histogram(fine)
    for (let i = 1; i <= 10_000; i++) histogram.record(i / 100)
    for (const [q, exact] of [
      [0.5, 50],
      [0.95, 95],
      [0.99, 99],
      [0.999, 99.9],
    ] as const) {
      expect(histogram.quantile(q)).toBeGreaterThanOrEqual(exact)
      expect(histogram.quantile(q)).toBeLessThanOrEqual(exact * 1.012)
    }
    const wide = new Histogram(fine)
    for (const ms of [0.002, 2, 2000]) for (let i = 0; i < 10; i++) wide.record(ms)
    expect(wide.quantile(0.3) / 0.002).toBeCloseTo(1, 1)
    expect(wide.quantile(0.99) / 2000).toBeCloseTo(1, 1)
    expect(wide.max).toBe(2000)
  })

  test('fewer buckets are less precise: at most 1/16 of a doubling with 16 buckets', () => {
    const histogram = new Histogram(logarithmic(1e-6, 16))
    for (let ms = 1; ms <= 1000; ms++) histogram.record(ms / 1000)
    expect(histogram.quantile(0.5) / 0.5).toBeGreaterThanOrEqual(1)
    expect(histogram.quantile(0.5) / 0.5).toBeLessThan(2 ** (1 / 16))
  })

  test.each([0, 1e-9, 0.5, 1e9])('%d has a bucket', (value) => {
    const histogram = new Histogram(fine)
    histogram.record(value)
    expect(histogram.quantile(0.99)).toBe(value)
  })

  test('memory does not grow with the number of values', () => {
    const histogram = new Histogram(fine)
    const { length } = histogram.counts
    for (let i = 0; i < 10_000; i++) histogram.record(2 ** (i % 50))
    expect(histogram.count).toBe(10_000)
    expect(histogram.counts).toHaveLength(length)
  })
})

test('with bounded buckets, a value that equals a bound belongs to it', () => {
  const histogram = new Histogram(bounded([1, 2]))
  for (const value of [1, 1.5, 2, 3]) histogram.record(value)
  expect(histogram).toMatchObject({ counts: [1, 2, 1], count: 4, sum: 7.5, max: 3 })
  expect([histogram.quantile(0.25), histogram.quantile(0.75), histogram.quantile(1)]).toEqual([1, 2, 3])
})

test('the sum of two histograms equals one that recorded all values', () => {
  const [all, odd, even] = [new Histogram(fine), new Histogram(fine), new Histogram(fine)]
  for (let i = 1; i <= 1000; i++) {
    all.record(i)
    ;(i % 2 ? odd : even).record(i)
  }
  odd.add(structuredClone(even.contents()))
  expect(odd).toEqual(all)
})

test('values that were taken out are no longer counted', () => {
  const histogram = new Histogram(fine)
  histogram.record(3)
  expect(histogram.take()).toMatchObject({ sum: 3, max: 3 })
  expect(histogram).toEqual(new Histogram(fine))
  expect(histogram.quantile(0.5)).toBeNaN()
})
