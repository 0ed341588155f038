// Rules of the receivers of events, of their cursors, and of the order in which the audit trail is read.
import { describe, expect, test } from 'vitest'
import { feedEnd } from '../../../src/events/cursor.ts'
import { newId } from '../../../src/lib/id.ts'
import {
  type EventReceiver,
  type FeedPlace,
  MAX_ALL_STREAMS,
  MAX_RECEIVERS,
  MAX_STREAMS,
  SENDER,
} from '../../../src/records/event_receiver.ts'
import type { Store } from '../../../src/store/index.ts'
import { anEvent, aReceiver, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

const START = { feed_order: 0, event_id: 'AAAAAAAAAAAAAAAAAAAAAA' }

export function eventReceiverRules(bench: Bench): void {
  const created = async (store: Store, more: Partial<EventReceiver> = {}) => {
    const receiver = aReceiver(more)
    const start = (await feedEnd(store)) - 1
    expect(await store.createReceiver({ receiver, start })).toBe('created')
    const cursor = await store.findEventCursor({ receiver_id: receiver.id })
    if (!cursor) throw new Error('no cursor')
    return { receiver, cursor }
  }

  describe('receivers', () => {
    test('a receiver is read back with every member, listed by kind, and gone with its cursor after its deletion', async () => {
      const { store } = bench
      const { receiver } = await created(store)
      const { receiver: stream } = await created(store, { kind: 'stream', url: undefined, client_id: 'rs' })
      expect(await store.findReceiver({ id: receiver.id })).toEqual(receiver)
      const ids = async (kind?: 'webhook' | 'stream') => (await store.listReceivers({ kind })).map(({ id }) => id)
      expect(await ids('stream')).toEqual([stream.id])
      expect(await ids()).toEqual(expect.arrayContaining([receiver.id, stream.id]))
      expect(await store.deleteReceiver({ id: stream.id })).toEqual(stream)
      expect(await ids('stream')).toEqual([])
      expect(await store.findEventCursor({ receiver_id: stream.id })).toBeUndefined()
      expect(await store.deleteReceiver({ id: stream.id })).toBeUndefined()
    })

    test('a client gets no more streams than it may have, also when it asks for many at the same time at two instances', async () => {
      const { store, again, close } = await bench.open()
      const other = await again()
      const create = (each: Store) =>
        each.createReceiver({ receiver: aReceiver({ kind: 'stream', url: undefined, client_id: 'rs' }), start: 0 })
      const outcomes = await Promise.all(Array.from({ length: 30 }, (_, i) => create(i % 2 ? store : other.store)))
      expect(outcomes.filter((each) => each === 'created')).toHaveLength(MAX_STREAMS)
      expect(new Set(outcomes)).toEqual(new Set(['created', 'too_many_streams']))
      await other.close()
      await close()
    })

    test('streams leave places for webhooks', async () => {
      const { store, close } = await bench.open()
      const create = (more: Partial<EventReceiver>) => store.createReceiver({ receiver: aReceiver(more), start: 0 })
      const stream = (client: number) => create({ kind: 'stream', url: undefined, client_id: `rs-${client}` })
      for (let i = 0; i < MAX_ALL_STREAMS; i++) expect(await stream(Math.floor(i / MAX_STREAMS))).toBe('created')
      expect(await stream(-1)).toBe('too_many')
      for (let i = MAX_ALL_STREAMS; i < MAX_RECEIVERS; i++) expect(await create({})).toBe('created')
      expect(await create({})).toBe('too_many')
      await close()
    })

    test('a change of a receiver that was changed since it was read is refused', async () => {
      const { store } = bench
      const { receiver } = await created(store)
      const next = { ...receiver, status: 'paused' as const, events: ['user_*'], updated_at: NOW + 1 }
      expect(await store.updateReceiver(next)).toBe('updated')
      expect(await store.updateReceiver({ ...next, events: ['key_*'] })).toBe('stale')
      expect(await store.findReceiver({ id: receiver.id })).toEqual({ ...next, version: 2 })
    })

    test('a cursor is stored by the holder of the lease only, and a lease has one holder until it ends', async () => {
      const { store, close } = await bench.open()
      const { cursor } = await created(store)
      const take = (holder: string, now: number) => store.takeLease({ name: SENDER, holder, now, until: now + 10 })
      expect([await take('a', NOW), await take('b', NOW), await take('a', NOW + 1)]).toEqual([true, false, true])
      const moved = {
        ...cursor,
        feed_order: 7,
        event_id: newId(),
        issued_id: newId(),
        attempts: 2,
        retry_at: NOW,
        failing_since: NOW,
        last_error: 'HTTP 500',
        delivered_at: NOW,
        recent: [{ event_id: newId(), type: 'client_created', at: NOW, status: 500, error: 'HTTP 500' }],
      }
      expect(await store.saveEventCursor({ cursor: moved, holder: 'b' })).toBe(false)
      expect(await store.findEventCursor({ receiver_id: cursor.receiver_id })).toEqual(cursor)
      expect(await store.saveEventCursor({ cursor: moved, holder: 'a' })).toBe(true)
      expect(await store.listEventCursors()).toEqual([moved])
      expect(await take('b', NOW + 11)).toBe(true)
      await store.releaseLease({ name: SENDER, holder: 'b' })
      expect(await take('a', NOW)).toBe(true)
      await close()
    })
  })

  describe('the feed', () => {
    /** The end of the feed when it has so many events. On PostgreSQL an event can be read when every older transaction has ended, those of other tests included. */
    const endWith = async (store: Store, after: FeedPlace, count: number) => {
      let end = 0
      const read = async () => {
        end = await feedEnd(store)
        return (await store.listFeed({ after, end, limit: count })).length
      }
      await expect.poll(read).toBe(count)
      return end
    }

    test('events are read in the order in which they were committed, whatever their ids, each once', async () => {
      const { store, close } = await bench.open()
      const ids = Array.from({ length: 6 }, newId)
      const committed = [3, 1, 5, 0, 4, 2].map((i) => ids[i] as string)
      for (const id of committed) await store.recordAudit(anEvent({ id }))
      const end = await endWith(store, START, committed.length)
      const first = await store.listFeed({ after: START, end, limit: 4 })
      const rest = await store.listFeed({ after: first.at(-1) ?? START, end, limit: 4 })
      expect([...first, ...rest].map(({ event_id }) => event_id)).toEqual(committed)
      expect(await store.listFeed({ after: rest.at(-1) ?? START, end, limit: 4 })).toEqual([])
      const late = anEvent({ id: ids[0]?.replace(/^..../, 'AAAA'), action: 'client_created' })
      await store.recordAudit(late)
      const last = rest.at(-1) ?? START
      const next = await store.listFeed({ after: last, end: await endWith(store, last, 1), limit: 4 })
      expect(next.map(({ event }) => event)).toEqual([late])
      expect(await store.findAuditEvent({ id: late.id })).toEqual(late)
      await close()
    })

    test('a new receiver begins after the events that were committed before', async () => {
      const { store, close } = await bench.open()
      await store.recordAudit(anEvent())
      await endWith(store, START, 1)
      const { cursor } = await created(store)
      const after = anEvent({ action: 'client_created' })
      await store.recordAudit(after)
      const feed = await store.listFeed({ after: cursor, end: await endWith(store, cursor, 1), limit: 9 })
      expect(feed.map(({ event_id }) => event_id)).toEqual([after.id])
      await close()
    })

    test('the events of some actions are counted, up to a limit', async () => {
      const { store, close } = await bench.open()
      for (const action of ['client_created', 'user_created', 'client_created', 'client_deleted'])
        await store.recordAudit(anEvent({ action }))
      const measure = (actions: string[], limit = 9, since = 0) =>
        store.measureFeed({ after: START, actions, since, limit })
      expect(await measure(['client_created', 'client_deleted'])).toEqual({ pending: 3, oldest_at: NOW })
      expect(await measure(['client_created', 'client_deleted'], 2)).toEqual({ pending: 2, oldest_at: NOW })
      expect(await measure(['client_created'], 9, NOW + 1)).toEqual({ pending: 0 })
      await close()
    })
  })
}
