// The cost of telemetry: the same load on two services in alternation, one that exports metrics and traces of 1 % of the requests to a
// collector, and one without telemetry. Prints the ratio of their rates and of their CPU time per answer. Other programs on the machine
// affect the first ratio far more than the second. `node dist/bench/peers/telemetry.js [seconds] [rounds]`
import { once } from 'node:events'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { bestGenerator, runLoad } from '../load/load.ts'
import { type BenchTarget, HOT_CLIENTS } from '../load/target.ts'
import { stopAll } from '../run/children.ts'
import { loadOf, works } from '../run/scenarios.ts'
import { startService } from '../run/service.ts'

const CONNECTIONS = 64
const WARMUP_SECONDS = 2

/** A collector that accepts everything (gRPC over HTTP/2). Returns the number of calls, and its port. */
async function startCollector() {
  const seen = { calls: 0 }
  const server = createServer().on('stream', (stream) => {
    stream.on('error', () => {}).resume()
    stream.on('end', () => {
      seen.calls++
      stream.respond({ ':status': 200, 'content-type': 'application/grpc+proto' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(Buffer.alloc(5))
    })
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  return { seen, endpoint: `127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const OFF = { SERVICE_METRICS_PROVIDER: 'none', SERVICE_TRACING_ENABLED: 'false' }
const onTo = (endpoint: string) => ({
  SERVICE_METRICS_PROVIDER: 'both',
  SERVICE_METRICS_OTEL_ENDPOINT: endpoint,
  SERVICE_METRICS_INSECURE: 'true',
  SERVICE_TRACING_ENABLED: 'true',
  SERVICE_TRACING_ENDPOINT: endpoint,
  SERVICE_TRACING_INSECURE: 'true',
  SERVICE_TRACING_SAMPLE_RATE: '0.01',
})

interface Measured {
  per_s: number
  cpu_us: number
}

async function measure(target: BenchTarget, seconds: number): Promise<Measured> {
  const [work] = works
  const feed = work && (await loadOf(work, target))?.feed
  if (feed?.kind !== 'same') throw new Error('the first work is not a rotation')
  const generator = bestGenerator()
  if (generator === 'own') throw new Error('this measurement needs wrk or autocannon')
  const plan = { url: target.base + feed.path, bodies: feed.forms, connections: CONNECTIONS }
  await runLoad(generator, { ...plan, seconds: WARMUP_SECONDS }, target.probe())
  const { per_s, errors, cpu_us } = await runLoad(generator, { ...plan, seconds }, target.probe())
  if (errors > 0) throw new Error(`${errors} errors`)
  return { per_s, cpu_us: cpu_us.total ?? Number.NaN }
}

const middle = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

const [seconds = 10, rounds = 5] = process.argv.slice(2).map(Number)
const collector = await startCollector()
try {
  const start = async (settings: Record<string, string>) =>
    (
      await startService({ clients: { hot: HOT_CLIENTS, cold: 0 }, alg: 'ES256', env: { ...process.env, ...settings } })
    )[0]
  const [on, off] = [await start(onTo(collector.endpoint)), await start(OFF)]
  const rates: number[] = []
  const costs: number[] = []
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that a drift of the machine affects both.
    const first = await measure(round % 2 ? on : off, seconds)
    const second = await measure(round % 2 ? off : on, seconds)
    const [with_, without] = round % 2 ? [first, second] : [second, first]
    rates.push(with_.per_s / without.per_s)
    costs.push(without.cpu_us / with_.cpu_us)
    const say = ({ per_s, cpu_us }: Measured) => `${Math.round(per_s)}/s at ${cpu_us.toFixed(1)} us`
    console.log(`round ${round + 1}: on ${say(with_)}, off ${say(without)}`)
  }
  console.log(
    `on/off: rate ${middle(rates).toFixed(3)}, tokens for the same CPU ${middle(costs).toFixed(3)} ` +
      `(${rounds} rounds of ${seconds} s, ${collector.seen.calls} pushes arrived)`,
  )
} finally {
  await stopAll()
}
