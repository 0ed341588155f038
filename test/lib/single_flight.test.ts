// Calls that share one result per key while they are in flight.
import { expect, test, vi } from 'vitest'
import { SingleFlight } from '../../src/lib/threads/single_flight.ts'

/** Work whose calls the test settles, first call first. */
function heldWork() {
  const calls: { resolve: (value: string) => void; reject: (error: Error) => void }[] = []
  const work = vi.fn(() => new Promise<string>((resolve, reject) => calls.push({ resolve, reject })))
  return {
    work,
    resolve: (value: string) => calls.shift()?.resolve(value),
    reject: () => calls.shift()?.reject(new Error('away')),
  }
}

test('callers that ask while a call is in flight share its result', async () => {
  const flights = new SingleFlight<string>()
  const { work, resolve } = heldWork()
  const callers = [flights.run('k', work), flights.run('k', work)]
  resolve('v')
  expect(await Promise.all(callers)).toEqual(['v', 'v'])
  expect(work).toHaveBeenCalledTimes(1)
})

test('calls of other keys are calls of their own', async () => {
  const flights = new SingleFlight<string>()
  expect(await Promise.all(['a', 'b'].map((key) => flights.run(key, async () => key)))).toEqual(['a', 'b'])
})

test('the caller that was answered may ask again at once and starts a new call', async () => {
  const flights = new SingleFlight<string>()
  const work = vi.fn(async () => 'v')
  await flights.run('k', work)
  expect(flights.get('k')).toBeUndefined()
  await flights.run('k', work)
  expect(work).toHaveBeenCalledTimes(2)
})

test('every caller gets the error of a failed call, and the next one starts a new call', async () => {
  const flights = new SingleFlight<string>()
  const { work, reject } = heldWork()
  const callers = [flights.run('k', work), flights.run('k', work)]
  reject()
  expect((await Promise.allSettled(callers)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await flights.run('k', async () => 'v')).toBe('v')
})

test.each([
  ['forget()', (flights: SingleFlight<string>) => flights.forget('k')],
  ['clear()', (flights: SingleFlight<string>) => flights.clear()],
])(
  'after %s the next caller starts a new call, which the end of the old one does not remove',
  async (_name, forget) => {
    const flights = new SingleFlight<string>()
    const { work, resolve } = heldWork()
    const old = flights.run('k', work)
    forget(flights)
    const fresh = flights.run('k', work)
    resolve('old')
    expect(await old).toBe('old')
    expect(flights.get('k')).toBe(fresh)
    resolve('fresh')
    expect(await fresh).toBe('fresh')
  },
)

test('settled() waits for calls that fail, too', async () => {
  const flights = new SingleFlight<string>()
  const { work, reject } = heldWork()
  const caller = flights.run('k', work).catch(() => 'failed')
  let isSettled = false
  const settled = flights.settled().then(() => {
    isSettled = true
  })
  await Promise.resolve()
  expect(isSettled).toBe(false)
  reject()
  await settled
  expect(await caller).toBe('failed')
})
