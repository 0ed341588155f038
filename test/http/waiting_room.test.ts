// The room in which logins wait: turns, bounds, and the end of the process.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { WaitingRoom } from '../../src/http/waiting_room.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Requests that entered a room, and which of them went on. */
function openRoom() {
  const room = new WaitingRoom()
  const done: string[] = []
  const enter = (name: string, key = name) => {
    const entered = room.enter(key)
    void entered.then((seconds) => done.push(seconds === 0 ? name : `${name} refused for ${seconds}`))
  }
  const after = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    return done.splice(0)
  }
  return { room, enter, after }
}

test('a request continues after a second, and requests of other keys do not wait for it', async () => {
  const { enter, after } = openRoom()
  enter('a')
  enter('b')
  expect(await after(999)).toEqual([])
  expect(await after(1)).toEqual(['a', 'b'])
})

test('requests of one key continue a second apart; the sixth is refused at once, and one that comes later is not', async () => {
  const { enter, after } = openRoom()
  for (let i = 1; i <= 6; i++) enter(String(i), 'key')
  expect(await after(0)).toEqual(['6 refused for 6'])
  expect(await after(1000)).toEqual(['1'])
  expect(await after(1000)).toEqual(['2'])
  enter('7', 'key')
  expect(await after(4000)).toEqual(['3', '4', '5', '7'])
})

test('U62 when the room is full the request that has waited longest continues early: no request is refused because others wait', async () => {
  const { room, enter, after } = openRoom()
  for (let i = 0; i < 256; i++) enter(`other ${i}`)
  expect(await after(0)).toEqual([])
  enter('mine')
  expect(await after(0)).toEqual(['other 0'])
  for (let i = 256; i < 10_000; i++) enter(`other ${i}`)
  expect(room.size).toBe(256)
  expect(await after(0)).toContain('mine')
})

test('at the end of the process every request continues', async () => {
  const { room, enter, after } = openRoom()
  for (const name of ['a', 'b', 'c']) enter(name)
  room.close()
  expect(await after(0)).toEqual(['a', 'b', 'c'])
  expect(vi.getTimerCount()).toBe(0)
})
