// autocannon in a process of its own, so that it shares no event loop with whoever measures.
import autocannon from 'autocannon'
import { onPlan } from './children.ts'
import type { LoadPlan } from './load.ts'
import { type LoadResult, percentiles } from './usage.ts'

onPlan<LoadPlan>(async ({ url, bodies, connections, seconds }) => {
  const latencies: number[] = []
  let firstError: string | undefined
  let opened = 0
  let [startedMs, endedMs] = [0, 0]
  const shareOf = (connection: number) =>
    bodies
      .filter((_, i) => i % connections === connection % Math.min(connections, bodies.length))
      .map((body) => ({
        method: 'POST',
        path: new URL(url).pathname,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
      }))
  const run = autocannon({
    url,
    connections,
    duration: seconds,
    sampleInt: 100,
    // Every connection has its own share of the bodies: together they send all of them.
    setupClient: (client) => client.setRequests(shareOf(opened++)),
  })
  // autocannon's own duration begins before it has built the requests.
  run.on('start', () => {
    startedMs = performance.now()
  })
  run.on('response', (_client, status, _bytes, ms) => {
    endedMs = performance.now()
    if (status >= 200 && status < 300) latencies.push(ms)
    else firstError ??= `status ${status}`
  })
  const result = await run
  return {
    successes: result['2xx'],
    errors: result.non2xx + result.errors,
    firstError,
    seconds: (endedMs - startedMs) / 1000,
    ...percentiles(latencies),
  } satisfies Omit<LoadResult, 'cpuMicros'>
})
