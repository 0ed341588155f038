// Calls between threads: results, refusals, and a lost peer.
import { MessageChannel } from 'node:worker_threads'
import { afterEach, expect, test, vi } from 'vitest'
import { OAuthError, unavailable } from '../../src/lib/error.ts'
import { RpcChannel, type RpcHandlers } from '../../src/lib/threads/rpc.ts'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

/** Calls a method over a channel of its own. */
function pair<A extends RpcHandlers>(answers: A, asText = false) {
  const { port1, port2 } = new MessageChannel()
  ends.push(() => port1.close())
  const [asking, answering] = [new RpcChannel<A>(port1, { asText }), new RpcChannel<RpcHandlers>(port2, { asText })]
  const send = vi.spyOn(port1, 'postMessage')
  asking.listen({})
  answering.listen(answers)
  return { asking, send }
}

test.each([false, true])('results are returned to their callers, in any order (as text: %s)', async (asText) => {
  const later: (() => void)[] = []
  const { asking } = pair(
    {
      slow: (input: { a: number }) => new Promise<number>((resolve) => later.push(() => resolve(input.a))),
      fast: (input: string) => `${input}!`,
    },
    asText,
  )
  const slow = asking.ask('slow', { a: 7 })
  expect(await asking.ask('fast', 'b')).toBe('b!')
  for (const resolve of later) resolve()
  expect(await slow).toBe(7)
})

test('calls of one turn are sent in one message', async () => {
  const { asking, send } = pair({ twice: (input: number) => input * 2 })
  expect(await Promise.all([1, 2, 3].map((n) => asking.ask('twice', n)))).toEqual([2, 4, 6])
  expect(send).toHaveBeenCalledTimes(1)
})

test('a notification has no answer, and arrives before a later call', async () => {
  const told: string[] = []
  const { asking } = pair({ note: (text: string) => void told.push(text), list: (_: undefined) => [...told] })
  asking.tell('note', 'a')
  expect(await asking.ask('list', undefined)).toEqual(['a'])
})

test('a refusal arrives as the same refusal, and an error keeps its code', async () => {
  const refusal = new OAuthError('slow_down', 'later', { reason: 'rate_limited', headers: { 'retry-after': '3' } })
  const { asking } = pair({
    refuse(_: undefined) {
      throw refusal
    },
    away(_: undefined) {
      throw unavailable('gone', { reason: 'storage_unavailable', cause: new Error('disk') })
    },
    fail(_: undefined) {
      throw Object.assign(new Error('it was used before'), { code: 'USED_BEFORE dpop' })
    },
  })
  const refused = await asking.ask('refuse', undefined).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(OAuthError)
  expect(refused).toMatchObject({
    ...{ code: 'slow_down', message: 'later', status: 429, reason: 'rate_limited' },
    more: { headers: { 'retry-after': '3' } },
  })
  const away = await asking.ask('away', undefined).catch((error: unknown) => error)
  expect(away).toMatchObject({ status: 503, reason: 'storage_unavailable', cause: 'Error: disk' })
  const failed = await asking.ask('fail', undefined).catch((error: unknown) => error)
  expect(failed).not.toBeInstanceOf(OAuthError)
  expect(failed).toMatchObject({ code: 'USED_BEFORE dpop', message: 'it was used before' })
})

test('when the peer is gone, pending and later calls are rejected', async () => {
  const { asking } = pair({ never: (_: undefined) => new Promise(() => {}) })
  const waiting = asking.ask('never', undefined)
  asking.break(new Error('gone'))
  await expect(waiting).rejects.toThrow('gone')
  await expect(asking.ask('never', undefined)).rejects.toThrow('gone')
})
