// The queue towards a collector: bounded, whatever the collector does.
import { expect, test, vi } from 'vitest'
import { Outbox } from '../../src/telemetry/otlp/outbox.ts'

interface Sending {
  batch: number[]
  settle(arrived: boolean): void
}
function open() {
  const sendings: Sending[] = []
  const counts = { sent: 0, dropped: 0 }
  const outbox = new Outbox<number>({
    send: (batch) => new Promise((settle) => sendings.push({ batch, settle })),
    delayMs: 5,
    maxQueue: 10,
    maxBatch: 4,
    onSent: (count) => {
      counts.sent += count
    },
    onDropped: (count) => {
      counts.dropped += count
    },
  })
  return { outbox, sendings, counts }
}

test('a full batch is sent at once, and the rest with the next batch', async () => {
  const { outbox, sendings, counts } = open()
  for (let i = 0; i < 6; i++) outbox.put(i)
  expect(sendings.map(({ batch }) => batch)).toEqual([[0, 1, 2, 3]])
  sendings[0]?.settle(true)
  await vi.waitFor(() =>
    expect(sendings.map(({ batch }) => batch)).toEqual([
      [0, 1, 2, 3],
      [4, 5],
    ]),
  )
  expect(counts).toEqual({ sent: 4, dropped: 0 })
})

test('while a collector hangs, at most the limit is buffered, and further records are counted as dropped', () => {
  const { outbox, sendings, counts } = open()
  for (let i = 0; i < 100_000; i++) outbox.put(i)
  expect(sendings).toHaveLength(1)
  expect(counts).toEqual({ sent: 0, dropped: 100_000 - 4 - 10 })
})

test('a batch that could not be sent is counted and not retried', async () => {
  const { outbox, sendings, counts } = open()
  for (let i = 0; i < 4; i++) outbox.put(i)
  sendings[0]?.settle(false)
  await vi.waitFor(() => expect(counts).toEqual({ sent: 0, dropped: 4 }))
  expect(sendings).toHaveLength(1)
})

test('draining sends all buffered records', async () => {
  const { outbox, sendings, counts } = open()
  for (let i = 0; i < 7; i++) outbox.put(i)
  const drained = outbox.drain()
  sendings[0]?.settle(true)
  await vi.waitFor(() => expect(sendings).toHaveLength(2))
  sendings[1]?.settle(true)
  await drained
  expect(counts.sent).toBe(7)
})
