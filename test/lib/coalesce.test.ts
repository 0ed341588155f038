// Work that is triggered by events.
import { expect, test } from 'vitest'
import { coalesce } from '../../src/lib/threads/coalesce.ts'

/** Work that the test completes. */
function byHand() {
  const runs: { resolve(): void; reject(error: Error): void }[] = []
  const errors: unknown[] = []
  const ask = coalesce(() => new Promise<void>((resolve, reject) => runs.push({ resolve, reject })), {
    retryMs: 1,
    onError: (error) => errors.push(error),
  })
  return { runs, errors, ask }
}
const turns = () => new Promise((resolve) => setTimeout(resolve, 10))

test('requests during a run cause exactly one further run', async () => {
  const { runs, ask } = byHand()
  for (let i = 0; i < 5; i++) ask()
  expect(runs.length).toBe(1)
  for (let i = 0; i < 5; i++) ask()
  runs[0]?.resolve()
  await turns()
  expect(runs.length).toBe(2)
  runs[1]?.resolve()
  await turns()
  expect(runs.length).toBe(2)
  ask()
  expect(runs.length).toBe(3)
})

test('failed work is retried until it succeeds, and reported once', async () => {
  const { runs, errors, ask } = byHand()
  ask()
  runs[0]?.reject(new Error('one'))
  await turns()
  runs[1]?.reject(new Error('two'))
  await turns()
  expect([runs.length, errors.map(String)]).toEqual([3, ['Error: one']])
  runs[2]?.resolve()
  await turns()
  expect(runs.length).toBe(3)
  ask()
  runs[3]?.reject(new Error('three'))
  await turns()
  expect(errors.map(String)).toEqual(['Error: one', 'Error: three'])
  runs[4]?.resolve()
})
