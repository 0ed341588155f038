// Places of a metric by label values.
import { expect, test } from 'vitest'
import { addTiming, MetricFamily, newTimings } from '../../src/telemetry/metric_family.ts'

const open = (...names: string[]) => new MetricFamily(names, () => ({ value: 0 }))

test('the same values are one place, whatever the order they are given in', () => {
  const family = open('a', 'b')
  expect(family.of({ a: 'x', b: 'y' })).toBe(family.of({ b: 'y', a: 'x' }))
  expect(family.of({ a: 'x', b: 'y' })).not.toBe(family.of({ a: 'y', b: 'x' }))
  expect(family.places.map(({ labels }) => labels)).toEqual([
    { a: 'x', b: 'y' },
    { a: 'y', b: 'x' },
  ])
})

test('without labels there is one place', () => {
  const family = open()
  expect(family.of(undefined)).toBe(family.of({}))
  expect(family.places).toHaveLength(1)
})

test('labels that were not declared are left out, and missing ones are empty', () => {
  const family = open('a')
  expect(family.of({ b: 'x' })).toBe(family.of({ a: '' }))
  expect(family.places[0]?.labels).toEqual({ a: '' })
})

test('beyond its bound a family has one more place for all the rest', () => {
  const family = open('a')
  for (let i = 0; i < 5000; i++) family.of({ a: `v${i}` }).value++
  expect(family.places).toHaveLength(2001)
  expect(family.of({ a: 'other' }).value).toBe(3000)
})

test('a duration that equals a bound belongs to it', () => {
  const timings = newTimings([1, 2])
  for (const seconds of [1, 1.5, 2, 3]) addTiming(timings, seconds)
  expect(timings).toMatchObject({ counts: [1, 2, 1], sum: 7.5 })
})
