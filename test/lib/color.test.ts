import { describe, expect, test } from 'vitest'
import { contrast, isColor, lightened } from '../../src/lib/color.ts'

describe('contrast() is the ratio of WCAG 2.2', () => {
  test.each([
    ['#000000', '#ffffff', 21],
    ['#ffffff', '#ffffff', 1],
    ['#777777', '#ffffff', 4.48],
    ['#ff0000', '#ffffff', 4],
    ['#00ff00', '#ffffff', 1.37],
    ['#0000ff', '#ffffff', 8.59],
    ['#2456d3', '#ffffff', 6.27],
  ])('%s and %s have %s, in both orders', (one, other, ratio) => {
    expect(contrast(one, other)).toBeCloseTo(ratio, 1)
    expect(contrast(other, one)).toBe(contrast(one, other))
  })
})

test('isColor() accepts # and six hex digits in any case, and nothing else', () => {
  expect(['#2456d3', '#ABCDEF'].every(isColor)).toBe(true)
  for (const text of ['', '#fff', '2456d3', '#2456dg', '#2456d3ff', 'red', '#2456d3;}', '\n#2456d3'])
    expect(isColor(text), text).toBe(false)
})

test('lightened() keeps a color that has the contrast, mixes white into others, and is white at the most', () => {
  expect(lightened('#8db2ff', '#1e222b', 7)).toBe('#8db2ff')
  for (const color of ['#2456d3', '#000000', '#7a0000', '#004d00'])
    expect(contrast(lightened(color, '#1e222b', 7), '#1e222b'), color).toBeGreaterThanOrEqual(7)
  expect(lightened('#2456d3', '#1e222b', 21)).toBe('#ffffff')
})
