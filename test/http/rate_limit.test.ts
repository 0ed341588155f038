// Buckets, subscribers and login attempts in progress.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { AttemptsInProgress, Buckets, SharedBucket, subscriber, TokenBucket } from '../../src/http/rate_limit.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})
const wait = (seconds: number) => vi.advanceTimersByTime(seconds * 1000)

describe('token bucket', () => {
  test('a bucket admits a burst, then returns the waiting time', () => {
    const bucket = new TokenBucket({ rate: 2, burst: 3 })
    expect([bucket.take(), bucket.take(), bucket.take()]).toEqual([0, 0, 0])
    expect(bucket.take()).toBe(1)
  })

  test('a bucket refills at its rate, up to its burst', () => {
    const bucket = new TokenBucket({ rate: 2, burst: 3 })
    for (let i = 0; i < 3; i++) bucket.take()
    wait(0.5)
    expect([bucket.take(), bucket.take()]).toEqual([0, 1])
    wait(3600)
    expect([bucket.take(), bucket.take(), bucket.take(), bucket.take()]).toEqual([0, 0, 0, 1])
  })

  test('a refused request does not extend the waiting time', () => {
    const bucket = new TokenBucket({ rate: 0.1, burst: 1 })
    bucket.take()
    expect(bucket.take()).toBe(10)
    for (let i = 0; i < 100; i++) bucket.take()
    wait(10)
    expect(bucket.take()).toBe(0)
  })
})

describe('a token bucket of several instances', () => {
  test('an instance has a share of the rate and the burst, at least one request, and all of it when the others end', () => {
    let among = 3
    const bucket = new TokenBucket({ rate: 6, burst: 7 }, () => among)
    const taken = (times: number) => Array.from({ length: times }, () => bucket.take())
    expect(taken(3)).toEqual([0, 0, 1])
    wait(0.5)
    expect(taken(2)).toEqual([0, 1])
    among = 100
    wait(3600)
    expect(taken(2)).toEqual([0, 17])
    among = 1
    wait(3600)
    expect(taken(8)).toEqual([0, 0, 0, 0, 0, 0, 0, 1])
  })
})

describe('buckets', () => {
  test('each key has its own bucket', () => {
    const buckets = new Buckets({ rate: 1, burst: 2 })
    expect([buckets.take('a'), buckets.take('a'), buckets.take('a')]).toEqual([0, 0, 1])
    expect([buckets.take('b'), buckets.take('b'), buckets.take('b')]).toEqual([0, 0, 1])
    wait(1)
    expect([buckets.take('a'), buckets.take('a')]).toEqual([0, 1])
  })

  test('a slow rate returns its waiting time', () => {
    const buckets = new Buckets({ rate: 0.1, burst: 1 })
    buckets.take('a')
    expect(buckets.take('a')).toBe(10)
    wait(4)
    expect(buckets.take('a')).toBe(6)
  })

  test('a key that was refused by the shared bucket waits here too', () => {
    const buckets = new Buckets({ rate: 10, burst: 20 })
    buckets.emptyFor('a', 2)
    expect([buckets.wait('a'), buckets.take('a'), buckets.take('b')]).toEqual([2, 2, 0])
    wait(2)
    expect([buckets.take('a'), buckets.take('a')]).toEqual([0, 1])
  })

  test('tens of thousands of keys are remembered, and beyond the bound the least recently used one is dropped', () => {
    const buckets = new Buckets({ rate: 0.001, burst: 1 })
    buckets.take('busy')
    buckets.take('quiet')
    for (let i = 0; i < 20_000; i++) buckets.take(`key ${i}`)
    expect(buckets.take('busy')).toBeGreaterThan(0)
    for (let i = 20_000; i < 100_000; i++) {
      buckets.take(`key ${i}`)
      if (i % 10_000 === 0) expect(buckets.take('busy')).toBeGreaterThan(0)
    }
    expect(buckets.take('quiet')).toBe(0)
  })
})

describe('subscriber', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['0000:0000:0000:0000:0000:ffff:c000:0207', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('%s belongs to %s', (address, expected) => {
    expect(subscriber(address)).toBe(expected)
  })
})

describe('login attempts in progress', () => {
  test('the attempts of an address are counted until they end, those of one IPv6 subscriber together', () => {
    const attempts = new AttemptsInProgress()
    expect([attempts.begin('a'), attempts.begin('a'), attempts.begin('b')]).toEqual([1, 2, 1])
    attempts.end('a')
    expect(attempts.begin('a')).toBe(2)
    expect([attempts.begin('2001:db8:1:2::1'), attempts.begin('2001:db8:1:2:ffff::1')]).toEqual([1, 2])
    expect(attempts.begin('2001:db8:1:3::1')).toBe(1)
  })

  test('an address without an attempt takes no memory', () => {
    const attempts = new AttemptsInProgress()
    for (let i = 0; i < 1000; i++) attempts.begin(`a${i}`)
    expect(attempts.size).toBe(1000)
    for (let i = 0; i < 1000; i++) attempts.end(`a${i}`)
    expect(attempts.size).toBe(0)
  })
})

describe('a bucket in shared memory', () => {
  test('a shared bucket admits its burst once, however many threads take from it', () => {
    const bucket = new SharedBucket({ rate: 1, burst: 20 })
    const others = [
      bucket,
      new SharedBucket({ rate: 1, burst: 20 }, bucket.memory),
      new SharedBucket({ rate: 1, burst: 20 }, bucket.memory),
    ]
    const waits = Array.from({ length: 60 }, (_, i) => others[i % 3]?.take())
    expect(waits.slice(0, 20)).toEqual(Array(20).fill(0))
    expect(waits.filter((wait) => wait === 0).length).toBeLessThan(40)
    expect(waits.at(-1)).toBeGreaterThanOrEqual(1)
  })

  test('a shared bucket refills with time, up to its burst', () => {
    let now = 1_000_000_000_000n
    vi.spyOn(process.hrtime, 'bigint').mockImplementation(() => now)
    const bucket = new SharedBucket({ rate: 2, burst: 3 })
    const taken = (times: number) => Array.from({ length: times }, () => bucket.take())
    expect(taken(4)).toEqual([0, 0, 0, 1])
    now += 500_000_000n
    expect(taken(2)).toEqual([0, 1])
    now += 60_000_000_000n
    expect(taken(4)).toEqual([0, 0, 0, 1])
    vi.restoreAllMocks()
  })

  test('a shared bucket of several instances is the share of this one for all its threads, at least one request', () => {
    let now = 1_000_000_000_000n
    vi.spyOn(process.hrtime, 'bigint').mockImplementation(() => now)
    const bucket = new SharedBucket({ rate: 6, burst: 7 })
    const other = new SharedBucket({ rate: 6, burst: 7 }, bucket.memory)
    const taken = (times: number) => Array.from({ length: times }, (_, i) => (i % 2 ? bucket : other).take())
    bucket.divideAmong(3)
    expect(taken(3)).toEqual([0, 0, 1])
    now += 500_000_000n
    expect(taken(2)).toEqual([0, 1])
    bucket.divideAmong(100)
    now += 3_600_000_000_000n
    expect(taken(2)).toEqual([0, 17])
    bucket.divideAmong(1)
    now += 3_600_000_000_000n
    expect(taken(8)).toEqual([0, 0, 0, 0, 0, 0, 0, 1])
    vi.restoreAllMocks()
  })
})
