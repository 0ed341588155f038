// Using something once: within a process, after a restart, and beside another process.
import { expect, test } from 'vitest'
import type { App } from '../../src/context.ts'
import { idFloor } from '../../src/lib/id.ts'
import { ReplaySet } from '../../src/lib/replay_set.ts'
import { openReplayCache, useOnce } from '../../src/oauth/tokens/single_use.ts'
import type { SingleUse } from '../../src/records/single_use.ts'
import type { Store } from '../../src/store/index.ts'
import { testClock } from '../support/clock.ts'

/** A process on a store that remembers `recorded`. */
async function process(recorded: SingleUse[] = [], clock = testClock()) {
  const asked: { since: string; now: number }[] = []
  const listUses = async (input: { since: string; now: number }) => {
    asked.push(input)
    return recorded.filter(({ expires_at }) => expires_at > input.now)
  }
  const replays = await openReplayCache({ listUses } as unknown as Store, clock)
  const app = { replays, clock } as unknown as App
  const use = (owner: string, value: string, kind: SingleUse['kind'] = 'dpop', life = 71) =>
    useOnce(app, kind, owner, value, clock.now() + life)
  return { use, asked, clock, replays }
}

test('a value is accepted once, and its record has everything that another process needs', async () => {
  const { use, clock } = await process()
  expect(await use('key', 'jti')).toEqual({
    id: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
    kind: 'dpop',
    hash: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
    expires_at: clock.now() + 71,
  })
  expect(await use('key', 'jti')).toBeUndefined()
})

test('a use by another owner, or of another kind, does not consume a value', async () => {
  const { use } = await process()
  expect(await use('attacker', 'jti')).toBeDefined()
  expect(await use('key', 'jti', 'assertion')).toBeDefined()
  expect(await use('key', 'jti')).toBeDefined()
})

test('no pair of owner and value has the same hash as another pair', async () => {
  const { use } = await process()
  const pairs: [string, string][] = [
    ['a', 'bc'],
    ['ab', 'c'],
    ['abc', ''],
    ['', 'abc'],
    ['a","b', 'c'],
    ['a', 'b","c'],
  ]
  for (const [owner, value] of pairs) expect(await use(owner, value), `${owner} ${value}`).toBeDefined()
})

test('a value that was used before a restart is refused after it, until it expires', async () => {
  const before = await process()
  const record = await before.use('key', 'jti')
  if (!record) return expect.fail('not used')
  const clock = testClock()
  const after = await process([record], clock)
  expect(await after.use('key', 'jti')).toBeUndefined()
  clock.advance(70)
  expect(await after.use('key', 'jti')).toBeUndefined()
  clock.advance(1)
  expect(await after.use('key', 'jti')).toBeDefined()
})

test('a restart loads only unexpired uses of the last day', async () => {
  const { asked, clock } = await process()
  expect(asked).toEqual([{ since: idFloor(clock.now() - 86_400), now: clock.now() }])
})

test('an expiry with a fraction of a second is rounded up', async () => {
  const { use, clock } = await process()
  expect((await use('key', 'jti', 'dpop', 0.5))?.expires_at).toBe(clock.now() + 1)
  expect(await use('key', 'jti')).toBeUndefined()
})

test('the cache holds ten thousand proofs a second for as long as each of them is valid', async () => {
  const { replays } = await process()
  expect(replays).toBeInstanceOf(ReplaySet)
  expect(replays).toHaveProperty('max', 1_500_000)
})
