// The cost of telemetry: the same load on two services in alternation, one that exports metrics and traces of 1 % of the requests to a
// collector, and one without telemetry. Prints the ratio of their rates and of their CPU time per answer. Other programs on the machine
// affect the first ratio far more than the second. `node dist/bench/peers/telemetry.js [seconds] [rounds]`
import { once } from 'node:events'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { stopAll } from '../run/children.ts'
import { compareSettings } from './in_turns.ts'

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

const [seconds = 10, rounds = 5] = process.argv.slice(2).map(Number)
const collector = await startCollector()
try {
  const ratio = await compareSettings(onTo(collector.endpoint), OFF, { seconds, rounds })
  console.log(`on/off: ${ratio}, ${collector.seen.calls} pushes arrived`)
} finally {
  await stopAll()
}
