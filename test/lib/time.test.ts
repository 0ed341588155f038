// Durations and times as people write them.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatDuration, parseDuration, parseTime, rfc3339, systemClock } from '../../src/lib/time.ts'

describe('durations', () => {
  test.each([
    ['0', 0],
    ['0s', 0],
    ['10s', 10],
    ['5m', 300],
    ['1h', 3600],
    ['1h30m', 5400],
    ['1h30m15.5s', 5415.5],
    ['1.5h', 5400],
    ['.5s', 0.5],
    ['1.s', 1],
    ['250ms', 0.25],
    ['10us', 0.00001],
    ['10\u00b5s', 0.00001],
    ['10\u03bcs', 0.00001],
    ['100ns', 0.0000001],
    ['7d', 604_800],
    ['2w', 1_209_600],
    ['1w2d', 777_600],
    ['168h', 604_800],
  ])('%s is %d seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds)
  })

  test.each([
    '',
    ' ',
    '1',
    '10',
    's',
    '.s',
    '-1s',
    '+1s',
    '1 s',
    ' 1s',
    '1s ',
    '1H',
    '1e3s',
    '1h 3m',
    '1h3',
    '1y',
    '1ss',
  ])('%j is not a duration', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })

  test('a duration beyond every number is none', () => {
    expect(parseDuration(`${'9'.repeat(400)}h`)).toBeUndefined()
  })

  test.each([
    [0, '0s'],
    [0.25, '250ms'],
    [1, '1s'],
    [90.5, '1m30.5s'],
    [90.123, '1m30.123s'],
    [5400, '1h30m'],
    [604_800, '168h'],
  ])('%d seconds are written %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text)
  })

  test('what is written is read back, for every whole number of seconds and of milliseconds', () => {
    fc.assert(
      fc.property(fc.nat(), (seconds) => {
        expect(parseDuration(formatDuration(seconds))).toBe(seconds)
      }),
    )
    fc.assert(
      fc.property(fc.nat({ max: 100_000_000 }), (ms) => {
        expect(parseDuration(formatDuration(ms / 1000))).toBe(ms / 1000)
      }),
    )
  })
})

describe('times', () => {
  test('a time is written as RFC 3339 in UTC', () => {
    expect(rfc3339(1_772_359_200)).toBe('2026-03-01T10:00:00Z')
    expect(rfc3339(0)).toBe('1970-01-01T00:00:00Z')
  })

  test('what is written is read back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799 }), (seconds) => {
        expect(parseTime(rfc3339(seconds))).toBe(seconds)
      }),
    )
  })

  test.each([
    ['2026-03-01T10:00:00Z', 1_772_359_200],
    ['2026-03-01t10:00:00z', 1_772_359_200],
    ['2026-03-01T12:00:00+02:00', 1_772_359_200],
    ['2026-03-01T04:30:00-05:30', 1_772_359_200],
    ['2026-03-01T10:00:00.25Z', 1_772_359_200.25],
    ['2024-02-29T00:00:00Z', 1_709_164_800],
  ])('%s is a time', (text, seconds) => {
    expect(parseTime(text)).toBe(seconds)
  })

  test.each([
    '',
    '2026-03-01',
    '2026-03-01T10:00:00',
    '2026-03-01 10:00:00Z',
    '2026-03-01T10:00Z',
    '2026-3-1T10:00:00Z',
    '2026-13-01T10:00:00Z',
    '2026-02-30T10:00:00Z',
    '2026-02-29T10:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T10:60:00Z',
    '2026-03-01T10:00:00+24:00',
    '1772359200',
    'yesterday',
    ' 2026-03-01T10:00:00Z',
  ])('%j is not a time', (text) => {
    expect(parseTime(text)).toBeUndefined()
  })

  test('the clock of the service counts whole seconds', () => {
    const now = systemClock.now()
    expect(Number.isInteger(now)).toBe(true)
    expect(Math.abs(now - Date.now() / 1000)).toBeLessThan(2)
  })
})
