// The cells of a metric by label values.
import { expect, test } from 'vitest'
import { MetricFamily } from '../../src/telemetry/metric_family.ts'

const open = (...names: string[]) => new MetricFamily(names, () => ({ value: 0 }))

test('the same values are one cell, whatever the order they are given in', () => {
  const family = open('a', 'b')
  expect(family.of({ a: 'x', b: 'y' })).toBe(family.of({ b: 'y', a: 'x' }))
  expect(family.of({ a: 'x', b: 'y' })).not.toBe(family.of({ a: 'y', b: 'x' }))
  expect(family.cells.map(({ labels }) => labels)).toEqual([
    { a: 'x', b: 'y' },
    { a: 'y', b: 'x' },
  ])
})

test('without labels there is one cell', () => {
  const family = open()
  expect(family.of(undefined)).toBe(family.of({}))
  expect(family.cells).toHaveLength(1)
})

test('labels that were not declared are left out, and missing ones are empty', () => {
  const family = open('a')
  expect(family.of({ b: 'x' })).toBe(family.of({ a: '' }))
  expect(family.cells[0]?.labels).toEqual({ a: '' })
})

test('beyond its bound a family has one more cell for all the rest', () => {
  const family = open('a')
  for (let i = 0; i < 5000; i++) family.of({ a: `v${i}` }).value++
  expect(family.cells).toHaveLength(2001)
  expect(family.of({ a: 'other' }).value).toBe(3000)
})
