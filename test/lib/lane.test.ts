// The lane: batches, bounds and failures.
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { Lane, type LaneOptions, type Outcome } from '../../src/lib/threads/lane.ts'
import { refusalOf } from '../support/thrown.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A lane whose batches wait until the test completes them. */
function heldLane(options: Partial<LaneOptions<string, string>> = {}) {
  const batches: string[][] = []
  const held: ((outcomes?: Outcome<string>[]) => void)[] = []
  const lane = new Lane<string, string>({
    name: 'test',
    workers: 1,
    maxBatch: 100,
    maxQueue: 100,
    run: (jobs) => {
      batches.push(jobs)
      return new Promise((resolve) =>
        held.push((outcomes) => resolve(outcomes ?? jobs.map((job) => ({ value: job.toUpperCase() })))),
      )
    },
    ...options,
  })
  return { lane, batches, release: (outcomes?: Outcome<string>[]) => held.shift()?.(outcomes) }
}

/** A lane whose first batch is done at once, and says that each of its jobs took so long; the others stay. */
function timedLane(jobMs: number, options: Partial<LaneOptions<string, string>>) {
  const lengths: number[] = []
  const { lane } = heldLane({
    run: async (jobs, worked) => {
      lengths.push(jobs.length)
      if (lengths.length > 1) return new Promise(() => {})
      worked(jobMs * jobs.length)
      return jobs.map((value) => ({ value }))
    },
    ...options,
  })
  return { lane, lengths }
}

describe('batches', () => {
  test('jobs of one turn are one batch, and each gets its own result', async () => {
    const { lane, batches, release } = heldLane()
    const answers = Promise.all(['a', 'b', 'c'].map((job) => lane.push(job)))
    expect(batches).toEqual([])
    await turn()
    expect(batches).toEqual([['a', 'b', 'c']])
    release()
    expect(await answers).toEqual(['A', 'B', 'C'])
    expect(lane.stats).toEqual({ waiting: 0, running: 0, jobs: 3, batches: 1, refused: 0, busy_ms: expect.any(Number) })
  })

  test('jobs that arrive while a batch runs form the next batch', async () => {
    const { lane, batches, release } = heldLane()
    const first = lane.push('a')
    await turn()
    const rest = [lane.push('b'), lane.push('c')]
    await turn()
    expect(batches).toEqual([['a']])
    expect(lane.stats).toMatchObject({ waiting: 2, running: 1 })
    release()
    await first
    expect(batches).toEqual([['a'], ['b', 'c']])
    release()
    expect(await Promise.all(rest)).toEqual(['B', 'C'])
  })

  test('no batch is larger than the maximum', async () => {
    const { lane, batches, release } = heldLane({ maxBatch: 2 })
    const answers = Promise.all(['a', 'b', 'c'].map((job) => lane.push(job)))
    await turn()
    expect(batches).toEqual([['a', 'b']])
    release()
    await turn()
    release()
    expect(await answers).toEqual(['A', 'B', 'C'])
  })

  test('idle workers share the waiting jobs', async () => {
    const { lane, batches } = heldLane({ workers: 2 })
    for (const job of ['a', 'b', 'c', 'd']) void lane.push(job)
    await turn()
    expect(batches).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
  })

  test('a full batch is dispatched at once, before the end of the turn', () => {
    const { lane, batches } = heldLane({ maxBatch: 2 })
    for (const job of ['a', 'b', 'c']) void lane.push(job)
    expect(batches).toEqual([['a', 'b']])
  })

  test.each([1, 3])('a busy worker gets %i full batches in advance, and no other', async (ahead) => {
    const { lane, batches, release } = heldLane({ maxBatch: 2, ahead })
    const first = lane.push('a')
    await turn()
    void lane.push('b')
    await turn()
    expect(batches).toEqual([['a']])
    const full = Array.from({ length: ahead }, (_, i) => [i === 0 ? 'b' : `${i}`, `second ${i}`])
    for (const job of [...full.flat().slice(1), 'c', 'd', 'e']) void lane.push(job)
    await turn()
    expect(batches).toEqual([['a'], ...full])
    release()
    await first
    await turn()
    expect(batches).toEqual([['a'], ...full, ['c', 'd']])
    expect(lane.stats).toMatchObject({ waiting: 1, running: 1 + ahead })
  })

  test('the busy time of a worker is the time that it reports, whenever the report arrives', async () => {
    const lane = new Lane<string, string>({
      name: 'test',
      workers: 1,
      maxBatch: 1,
      maxQueue: 1,
      run: async (jobs, worked) => {
        worked(1234)
        return jobs.map((value) => ({ value }))
      },
    })
    await lane.push('a')
    expect(lane.stats.busy_ms).toBe(1234)
    expect(lane.busyMs()).toBe(1234)
  })

  test('the stages of a batch add up to the time from its first push to its end', async () => {
    const seconds = { waiting: 0, working: 0, crossing: 0 }
    const lane = new Lane<string, string>({
      name: 'test',
      workers: 1,
      maxBatch: 2,
      maxQueue: 10,
      run: async (jobs, worked) => {
        await sleep(20)
        worked(5)
        return jobs.map((value) => ({ value }))
      },
      onStage: (name, stage, took) => {
        expect(name).toBe('test')
        seconds[stage] += took
      },
    })
    const startedMs = performance.now()
    await lane.push('a')
    const tookMs = performance.now() - startedMs
    expect(seconds.working).toBe(0.005)
    expect(seconds.crossing).toBeGreaterThan(0.01)
    expect(1000 * (seconds.waiting + seconds.working + seconds.crossing)).toBeLessThanOrEqual(tookMs)
    seconds.waiting = 0
    // The third job waits for the batch of the first two.
    await Promise.all(['a', 'b', 'c'].map((job) => lane.push(job)))
    expect(seconds.waiting).toBeGreaterThan(0.01)
  })

  test('the wait of a batch begins with its own first job, also while the queue is never empty', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const waits: number[] = []
      const { lane, release } = heldLane({
        maxBatch: 1,
        onStage: (_, stage, seconds) => stage === 'waiting' && waits.push(seconds),
      })
      const pushed = [lane.push('a'), lane.push('b')]
      for (let i = 0; i < 5; i++) {
        pushed.push(lane.push('c'))
        await turn()
        vi.advanceTimersByTime(1000)
        release()
        await turn()
      }
      for (let i = 0; i < 2; i++) {
        release()
        await turn()
      }
      await Promise.all(pushed)
      expect(waits).toEqual([0, 1, 2, 2, 2, 2, 1])
    } finally {
      vi.useRealTimers()
    }
  })

  test('the present batch of a worker counts as busy time before its result arrives', async () => {
    const { lane } = heldLane({ workers: 2, maxBatch: 1 })
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      expect(lane.busyMs()).toBe(0)
      void lane.push('a')
      await turn()
      vi.advanceTimersByTime(30)
      // One of two.
      expect(lane.busyMs()).toBe(15)
      expect(lane.stats.busy_ms).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('there are never more concurrent batches than workers', async () => {
    const { lane, batches } = heldLane({ workers: 2, maxBatch: 1 })
    for (const job of ['a', 'b', 'c', 'd']) void lane.push(job)
    await turn()
    await turn()
    expect(batches).toEqual([['a'], ['b']])
    expect(lane.stats.running).toBe(2)
  })

  test('a batch is limited by the average duration of earlier jobs', async () => {
    const { lane, lengths } = timedLane(10, { batchMs: 30 })
    await lane.push('first')
    for (let i = 0; i < 10; i++) void lane.push(String(i))
    await turn()
    expect(lengths).toEqual([1, 3])
  })

  test('an idle worker starts before the end of the turn when there is a millisecond of work', async () => {
    const { lane, lengths } = timedLane(0.1, { eagerMs: 1 })
    await lane.push('first')
    for (let i = 0; i < 9; i++) void lane.push(String(i))
    expect(lengths).toEqual([1])
    for (let i = 0; i < 9; i++) void lane.push(String(i))
    expect(lengths).toEqual([1, 10])
    await turn()
    expect(lengths).toEqual([1, 10])
  })
})

describe('jobs on the dispatching thread', () => {
  const here = { jobs: 2, ms: 0.5, run: (jobs: string[]) => jobs.map((job) => ({ value: `${job} here` })) }

  test('a few short jobs run here at the end of the turn when no worker is busy', async () => {
    const { lane, lengths } = timedLane(0.1, { here })
    expect(await lane.push('first')).toBe('first')
    expect(await Promise.all([lane.push('a'), lane.push('b')])).toEqual(['a here', 'b here'])
    expect(lengths).toEqual([1])
    expect(lane.stats).toMatchObject({ jobs: 3, batches: 2, running: 0, waiting: 0 })
  })

  test.each([
    ['more jobs', 0.1, ['a', 'b', 'c']],
    ['longer jobs', 0.3, ['a', 'b']],
  ])('%s are for a worker', async (_, jobMs, jobs) => {
    const { lane, lengths } = timedLane(jobMs, { here })
    await lane.push('first')
    for (const job of jobs) void lane.push(job)
    await turn()
    expect(lengths).toEqual([1, jobs.length])
  })

  test('jobs wait for a busy worker, which then takes all of them', async () => {
    const { lane, lengths } = timedLane(0.1, { here })
    await lane.push('first')
    for (const job of ['a', 'b', 'c']) void lane.push(job)
    await turn()
    void lane.push('d')
    await turn()
    expect(lengths).toEqual([1, 3])
    expect(lane.stats.waiting).toBe(1)
  })

  test('a failure fails its job', async () => {
    const failing = { ...here, run: () => [{ error: new Error('no key') }] }
    const { lane } = timedLane(0.1, { here: failing })
    await lane.push('first')
    await expect(lane.push('a')).rejects.toThrow('no key')
  })
})

describe('bounds', () => {
  test('a full queue refuses a job with 503 and the name of the lane, and accepts jobs when it has room', async () => {
    const { lane, release } = heldLane({ maxQueue: 2 })
    const waiting = [lane.push('a'), lane.push('b')]
    const refused = await refusalOf(() => lane.push('c'))
    expect(refused.status).toBe(503)
    expect(refused.reason).toBe('test_lane_full')
    expect(refused.more.headers?.['retry-after']).toBe('1')
    expect(lane.stats.refused).toBe(1)
    await turn()
    const late = lane.push('d')
    release()
    expect(await Promise.all(waiting)).toEqual(['A', 'B'])
    await turn()
    release()
    expect(await late).toBe('D')
  })
})

describe('failures', () => {
  test('a failing job does not affect other jobs of its batch', async () => {
    const { lane, release } = heldLane()
    const settled = Promise.allSettled([lane.push('a'), lane.push('b'), lane.push('c')])
    await turn()
    release([{ value: 'A' }, { error: new Error('b is bad') }, { value: 'C' }])
    expect(await settled).toEqual([
      { status: 'fulfilled', value: 'A' },
      { status: 'rejected', reason: new Error('b is bad') },
      { status: 'fulfilled', value: 'C' },
    ])
  })

  test('a job without an outcome is rejected', async () => {
    const { lane, release } = heldLane()
    const settled = Promise.allSettled([lane.push('a'), lane.push('b')])
    await turn()
    release([{ value: 'A' }])
    expect((await settled).map((each) => each.status)).toEqual(['fulfilled', 'rejected'])
  })

  test('a failing batch rejects only its jobs, and the lane continues', async () => {
    let fail = true
    const lane = new Lane<string, string>({
      name: 'test',
      workers: 1,
      maxBatch: 10,
      maxQueue: 10,
      run: (jobs) => {
        if (fail) throw new Error('the worker died')
        return Promise.resolve(jobs.map((value) => ({ value })))
      },
    })
    await expect(lane.push('a')).rejects.toThrow('the worker died')
    fail = false
    expect(await lane.push('b')).toBe('b')
    expect(lane.stats.running).toBe(0)
  })
})

describe('drained', () => {
  test('drained() resolves at once when no job waits or runs', async () => {
    await heldLane().lane.drained()
  })

  test('drained() resolves after the last waiting job was answered', async () => {
    const { lane, release } = heldLane({ maxBatch: 1 })
    const answers = [lane.push('a'), lane.push('b')]
    let drained = false
    const done = lane.drained().then(() => {
      drained = true
    })
    await turn()
    release()
    await answers[0]
    await turn()
    expect(drained).toBe(false)
    release()
    await done
    expect(await answers[1]).toBe('B')
  })
})
