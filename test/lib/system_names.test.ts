// Names that operators configure: what happens to one while a name server is slow or silent about another.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { codeOf } from '../../src/lib/error.ts'
import { createSystemNames } from '../../src/lib/system_names.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const HOUR = 3_600_000

/** Look-ups that end when the test says so. */
function heldNames() {
  const running: { name: string; end(addresses: string[] | Error): void }[] = []
  const resolve = vi.fn(
    (name: string) =>
      new Promise<string[]>((done, fail) => {
        running.push({ name, end: (given) => (given instanceof Error ? fail(given) : done(given)) })
      }),
  )
  return {
    lookUp: createSystemNames(resolve),
    /** Names whose look-ups were started, in order. */
    started: () => resolve.mock.calls.map(([name]) => name),
    /** Ends the oldest look-up of a name. */
    async end(name: string, given: string[] | Error) {
      const at = running.findIndex((each) => each.name === name)
      running.splice(at, 1)[0]?.end(given)
      await vi.advanceTimersByTimeAsync(0)
    },
  }
}
const failure = (code: string) => Object.assign(new Error(code), { code })
const outcome = (lookUp: Promise<string[]>): Promise<unknown> => lookUp.catch((error: unknown) => codeOf(error))
/** The outcome, or `waiting`. */
const soFar = async (lookUp: Promise<unknown>, ms = 0) => {
  const none = new Promise((resolve) => setTimeout(resolve, ms, 'waiting'))
  const first = Promise.race([lookUp, none])
  await vi.advanceTimersByTimeAsync(ms)
  return first
}
/** Names with one that is known and then hung until its look-up gave up, which makes it slow. */
async function withSlow(name: string, names = heldNames()) {
  const first = names.lookUp(name)
  await names.end(name, ['192.0.2.1'])
  await first
  const second = names.lookUp(name)
  await vi.advanceTimersByTimeAsync(10_000)
  await names.end(name, failure('EAI_AGAIN'))
  await second
  return names
}

test('concurrent callers for a name share one look-up, and the next call starts a new one', async () => {
  const { lookUp, started, end } = heldNames()
  const both = Promise.all([lookUp('a.test'), lookUp('a.test')])
  await end('a.test', ['192.0.2.1'])
  expect(await both).toEqual([['192.0.2.1'], ['192.0.2.1']])
  const next = lookUp('a.test')
  await end('a.test', ['192.0.2.2'])
  expect(await next).toEqual(['192.0.2.2'])
  expect(started()).toEqual(['a.test', 'a.test'])
})

test('a name that is not known fails after five seconds, while its lookup continues as the only one', async () => {
  const { lookUp, started, end } = heldNames()
  expect(await soFar(outcome(lookUp('a.test')), 5000)).toBe('ETIMEOUT')
  const second = outcome(lookUp('a.test'))
  await end('a.test', ['192.0.2.1'])
  expect(await second).toEqual(['192.0.2.1'])
  expect(started()).toEqual(['a.test'])
})

test('a name that is known is answered from its last addresses after a second, and at once when it was slow before', async () => {
  const { lookUp, end } = heldNames()
  const first = lookUp('a.test')
  await end('a.test', ['192.0.2.1'])
  await first
  const second = lookUp('a.test')
  expect(await soFar(second, 900)).toBe('waiting')
  expect(await soFar(second, 100)).toEqual(['192.0.2.1'])
  expect(await soFar(lookUp('a.test'))).toEqual(['192.0.2.1'])
})

test('a name server that fails leaves the last addresses in use for an hour, one that says the name is gone does not', async () => {
  const { lookUp, end } = heldNames()
  const ask = async (given: string[] | Error) => {
    const asked = outcome(lookUp('a.test'))
    await end('a.test', given)
    return asked
  }
  await ask(['192.0.2.1'])
  expect(await ask(failure('EAI_AGAIN'))).toEqual(['192.0.2.1'])
  expect(await ask(failure('ENOTFOUND'))).toBe('ENOTFOUND')
  expect(await ask(failure('EAI_AGAIN'))).toBe('EAI_AGAIN')
  await ask(['192.0.2.1'])
  await vi.advanceTimersByTimeAsync(HOUR + 1)
  expect(await ask(failure('EAI_AGAIN'))).toBe('EAI_AGAIN')
})

test('slow names are looked up one after the other, and others beside them', async () => {
  const names = await withSlow('a.test', await withSlow('b.test'))
  const before = names.started().length
  for (const name of ['a.test', 'b.test', 'c.test']) void outcome(names.lookUp(name))
  await vi.advanceTimersByTimeAsync(100)
  expect(names.started().slice(before)).toEqual(['c.test', 'a.test'])
  await names.end('a.test', ['192.0.2.9'])
  expect(names.started().slice(before)).toEqual(['c.test', 'a.test', 'b.test'])
  // One that is quick again is waited for again.
  const next = names.lookUp('a.test')
  await names.end('a.test', ['192.0.2.10'])
  expect(await next).toEqual(['192.0.2.10'])
})
