// Ids and bearer values: order, form and comparison.
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'

/** A copy of the module for this file: its clock is ahead here, and an id of the future would make all later ones of the other tests later too. */
const COPY = '../../src/lib/id.ts?copy'
const { digest, equalSecrets, idFloor, idTime, isId, newBearer, newId, newSecret, parseBearer } = (await import(
  COPY
)) as typeof import('../../src/lib/id.ts')

const bytesOf = (id: string) => Buffer.from(id, 'base64url')
const inOrder = (ids: string[]) =>
  ids.every((id, i) => i === 0 || Buffer.compare(bytesOf(ids[i - 1] as string), bytesOf(id)) < 0)

afterEach(() => {
  vi.useRealTimers()
})

describe('ids', () => {
  test('ids are UUIDs of version 7 and variant 10 (RFC 9562 §5.7)', () => {
    const id = bytesOf(newId())
    expect(id.length).toBe(16)
    expect(id.readUInt8(6) >> 4).toBe(7)
    expect(id.readUInt8(8) >> 6).toBe(2)
  })

  test('ids of one millisecond are ordered, also beyond the 4096 that fit into it', () => {
    vi.useFakeTimers({ now: Date.now() + 60_000 })
    const ids = Array.from({ length: 10_000 }, newId)
    expect(inOrder(ids)).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('ids stay ordered when the clock is set back', () => {
    vi.useFakeTimers({ now: Date.now() + 120_000 })
    const before = newId()
    vi.setSystemTime(Date.now() - 3_600_000)
    expect(inOrder([before, newId()])).toBe(true)
  })

  test('idTime returns the second in which an id was created', () => {
    vi.useFakeTimers({ now: Date.now() + 10_000_000 })
    expect(idTime(newId())).toBe(Math.floor(Date.now() / 1000))
  })

  test('idFloor is at most any id of its second, and above every id of the second before', () => {
    vi.useFakeTimers({ now: Math.ceil(Date.now() / 1000) * 1000 + 20_000_000 })
    const second = Date.now() / 1000
    const id = newId()
    expect(inOrder([idFloor(second), id, idFloor(second + 1)])).toBe(true)
    expect(idTime(idFloor(second))).toBe(second)
    expect(idTime(idFloor(-5))).toBe(0)
  })

  test('isId accepts ids of newId, and no other encoding of 16 bytes', () => {
    expect(isId(newId())).toBe(true)
    const canonical = Buffer.alloc(16, 0xff).toString('base64url')
    for (const other of [
      '',
      canonical.slice(1),
      `${canonical}A`,
      `${canonical.slice(0, -1)}x`,
      `${canonical.slice(0, -1)}=`,
      `${canonical}\n`,
      canonical.replace('_', '/'),
      `é${canonical.slice(1)}`,
    ])
      expect(isId(other), JSON.stringify(other)).toBe(false)
  })
})

describe('bearer values', () => {
  test('a bearer value is parsed into its id and hash', () => {
    const made = newBearer('rt')
    expect(made.value).toMatch(/^rt_[A-Za-z0-9_-]{64}$/)
    expect(isId(made.id)).toBe(true)
    expect(made.hash).toBe(digest(made.value))
    expect(parseBearer('rt', made.value)).toEqual(made)
  })

  test('a bearer value can be created for an existing row', () => {
    const id = newId()
    const made = newBearer('ac', id)
    expect(made.id).toBe(id)
    expect(parseBearer('ac', made.value)?.id).toBe(id)
    expect(newBearer('ac', id).value).not.toBe(made.value)
  })

  test('a bearer value with another prefix, length or alphabet is refused', () => {
    const { value } = newBearer('rt')
    for (const wrong of [
      '',
      'rt_',
      value.slice(3),
      value.replace('rt_', 'ac_'),
      value.replace('rt_', 'RT_'),
      value.replace('rt_', 'rt-'),
      value.slice(0, -1),
      `${value}A`,
      `${value}=`,
      `${value.slice(0, -1)}+`,
      `${value.slice(0, -1)}\n`,
      `${value.slice(0, -1)}é`,
    ])
      expect(parseBearer('rt', wrong), JSON.stringify(wrong)).toBeUndefined()
  })

  test('any change of a bearer value changes its hash', () => {
    const { value, hash } = newBearer('rt')
    fc.assert(
      fc.property(fc.integer({ min: 3, max: value.length - 1 }), fc.constantFrom('A', 'b', '7', '-'), (at, char) => {
        const changed = value.slice(0, at) + char + value.slice(at + 1)
        fc.pre(changed !== value)
        expect(parseBearer('rt', changed)?.hash).not.toBe(hash)
      }),
    )
  })

  test('a secret is 256 random bits as text that needs no escaping', () => {
    const secrets = Array.from({ length: 1000 }, () => newSecret('cs_'))
    for (const secret of secrets) expect(secret).toMatch(/^cs_[A-Za-z0-9_-]{43}$/)
    expect(new Set(secrets).size).toBe(secrets.length)
  })

  test('digest is SHA-256 in base64url', () => {
    expect(digest('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  })
})

test('equalSecrets compares the bytes of two texts', () => {
  expect(equalSecrets('', '')).toBe(true)
  expect(equalSecrets('a', 'ab')).toBe(false)
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      expect(equalSecrets(a, a)).toBe(true)
      expect(equalSecrets(a, b)).toBe(Buffer.from(a).equals(Buffer.from(b)))
    }),
  )
})
