// The room for incomplete bodies: large ones leave the small ones of other callers their room.
import { expect, test } from 'vitest'
import { BodyRoom } from '../../src/http/body_room.ts'

const KB = 1024

test('what bodies have beyond 64 KB is in a room of its own, and small bodies still get theirs', () => {
  const room = new BodyRoom(1024 * KB, 256 * KB)
  expect([room.take(300 * KB, 0), room.take(100 * KB, 300 * KB)]).toEqual([true, false])
  expect([room.take(20 * KB, 300 * KB), room.take(1, 320 * KB)]).toEqual([true, false])
  expect(Array.from({ length: 16 }, () => room.take(60 * KB, 0))).toEqual(Array(16).fill(true))
  expect(room.take(60 * KB, 0)).toBe(false)
  room.give(320 * KB)
  expect([room.take(64 * KB, 0), room.take(256 * KB, 64 * KB), room.take(1, 320 * KB)]).toEqual([true, true, false])
})

test('a body that grows over the border is counted once in each room', () => {
  const room = new BodyRoom(64 * KB, 64 * KB)
  expect([room.take(60 * KB, 0), room.take(8 * KB, 60 * KB), room.take(60 * KB, 68 * KB)]).toEqual([true, true, true])
  expect(room.take(1, 128 * KB)).toBe(false)
  room.give(128 * KB)
  expect(room.take(128 * KB, 0)).toBe(true)
})
