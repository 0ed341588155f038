// What front threads counted is moved, not copied.
import { expect, test } from 'vitest'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { addTo, takeFrom } from '../../src/telemetry/transfer.ts'

const lines = async (metrics: Metrics) =>
  (await metrics.render()).text.split('\n').filter((line) => /^core_(http_requests|tokens_issued|db_op)/.test(line))

test('the counts of two threads are merged as if one thread counted, also after repeated reads', async () => {
  const [one, supervisor] = [new Metrics(), new Metrics()] as const
  const threads = [new Metrics(), new Metrics()]
  const work = (metrics: Metrics, i: number) => {
    metrics.count('core_http_requests_total', { method: 'GET', path: `/${i % 2}`, status: '200' })
    metrics.count('core_tokens_issued_total', { grant_type: 'client_credentials' }, i)
    metrics.observe('core_db_operation_duration_seconds', i / 128, { op: 'findClient' })
  }
  for (let i = 0; i < 9; i++) {
    work(one, i)
    work(threads[i % 2] as Metrics, i)
    if (i % 3 === 0) for (const thread of threads) addTo(supervisor, structuredClone(takeFrom(thread)))
  }
  for (const thread of threads) addTo(supervisor, takeFrom(thread))
  for (const thread of threads) expect(takeFrom(thread)).toEqual({ counts: [], timings: [] })
  expect((await lines(supervisor)).sort()).toEqual((await lines(one)).sort())
})
