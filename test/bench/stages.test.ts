// The stages of the benchmark: read from a scrape of a service, and named in words.
import { expect, test } from 'vitest'
import { stageSentences } from '../../bench/report/stages.ts'
import { combineStages, readStages, stageTimes } from '../../bench/run/stages.ts'
import { openCrypto } from '../../src/crypto/pool.ts'
import { Metrics, stagesIn } from '../../src/telemetry/metrics.ts'
import { silentLog } from '../support/log.ts'
import { reportWith, resultWith } from './reports.ts'

const rows = (bounds: Record<string, number>) =>
  Object.entries(bounds)
    .map(([le, count]) => `ext_lane_seconds_bucket{le="${le}",lane="crypto",stage="waiting"} ${count}`)
    .join('\n')

test('the percentiles are those of the batches between two scrapes', () => {
  const before = readStages(rows({ '0.001': 100, '0.01': 100, '1': 100, '+Inf': 100 }))
  const after = readStages(rows({ '0.001': 100, '0.01': 198, '1': 198, '+Inf': 200 }))
  const times = stageTimes(combineStages(after, before, -1))
  expect(times).toEqual({ 'crypto waiting': { p50: 10, p99: null } })
  expect(stageTimes(combineStages(before, before, -1))).toEqual({})
})

test('a queue that only one of two instances has is in their sum', () => {
  const one = { 'crypto waiting': { '1': 2, '+Inf': 3 } }
  const both = { 'crypto waiting': { '1': 1, '+Inf': 1 }, 'store waiting': { '+Inf': 4 } }
  const sum = { 'crypto waiting': { '1': 3, '+Inf': 4 }, 'store waiting': { '+Inf': 4 } }
  expect(combineStages(one, both, 1)).toEqual(sum)
  expect(combineStages(both, one, 1)).toEqual(sum)
})

test('the scrape of a service has the stages of its queues', async () => {
  const metrics = new Metrics()
  const lanes = openCrypto({ threads: 1, onStage: stagesIn(metrics) }, silentLog)
  await lanes.verify({ alg: 'ES256', jwk: { kty: 'EC' }, thumbprint: '', input: 'a', signature: 'b' }).catch(() => {})
  await lanes.close()
  const stages = readStages(await metrics.render().then(({ text }) => text))
  expect(stages['crypto working']?.['+Inf']).toBe(1)
})

test('a report says what the processors did and where a token waited', () => {
  const result = resultWith('client_credentials', [{ per_s: 1000 }])
  for (const round of result.rounds) round.stages = { 'crypto waiting': { p50: 0.5, p99: 2 } }
  expect(stageSentences(reportWith([result])).join()).toMatch(
    /client_credentials.*: of \d+ processors: service .*, load generator 0\.30, others .*, idle .*\. Batches, p50 and p99 in ms: crypto waiting 0\.5 and 2\.0\./,
  )
})
