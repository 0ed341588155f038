// autocannon in a process of its own, so that it does not share an event loop with the process that measures.
import autocannon from 'autocannon'
import type { LoadPlan } from '../load/load.ts'
import { onPlans } from '../run/children.ts'
import type { Counted } from '../run/sample.ts'
import { newLatencies, percentilesOf } from '../statistics.ts'

onPlans<LoadPlan>(async ({ url, bodies, connections, seconds }) => {
  const latency = newLatencies()
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
    // Each connection sends a share of the bodies; together they send all.
    setupClient: (client) => client.setRequests(shareOf(opened++)),
  })
  // The duration that autocannon reports includes the preparation of its requests.
  run.on('start', () => {
    startedMs = performance.now()
  })
  run.on('response', (_client, status, _bytes, ms) => {
    endedMs = performance.now()
    if (status >= 200 && status < 300) latency.record(ms)
    else firstError ??= `status ${status}`
  })
  const result = await run
  return {
    loop: 'closed',
    seconds: (endedMs - startedMs) / 1000,
    answers: result['2xx'],
    errors: result.non2xx + result.errors,
    first_error: firstError,
    latency_ms: percentilesOf(latency),
  } satisfies Counted
})
