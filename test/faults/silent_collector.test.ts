// A collector of telemetry that accepts connections and never answers.
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { atEndOfFile } from '../support/end_of_file.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { placed } from '../support/instances.ts'

/** The port of a collector that never answers. */
async function silentPort(): Promise<number> {
  const port = await freePort()
  const open = new Set<Socket>()
  const server = createServer((socket) => void open.add(socket.on('error', () => {})))
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  atEndOfFile(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return port
}

test.each(['that never answers', 'that does not run'])(
  'a server with a collector %s ends after SIGTERM',
  { timeout: 60_000 },
  async (kind) => {
    const endpoint = `127.0.0.1:${kind === 'that never answers' ? await silentPort() : await freePort()}`
    const { instance, issuer } = await placed(tempFolder(), {
      SERVICE_OBSERVABILITY_TRACING_ENABLED: 'true',
      SERVICE_OBSERVABILITY_TRACING_ENDPOINT: endpoint,
      SERVICE_OBSERVABILITY_TRACING_INSECURE: 'true',
      SERVICE_OBSERVABILITY_TRACING_SAMPLE_RATE: '1',
      SERVICE_OBSERVABILITY_METRICS_PROVIDER: 'otel',
      SERVICE_OBSERVABILITY_METRICS_OTEL_ENDPOINT: endpoint,
      SERVICE_OBSERVABILITY_METRICS_INSECURE: 'true',
      SERVICE_OBSERVABILITY_LOGGING_OUTPUTS_OTEL: 'true',
      SERVICE_OBSERVABILITY_LOGGING_OUTPUTS_OTEL_ENDPOINT: endpoint,
      SERVICE_OBSERVABILITY_LOGGING_OUTPUTS_INSECURE: 'true',
    })
    await instance.start()
    for (let i = 0; i < 3; i++) expect((await fetch(`${issuer}/.well-known/oauth-authorization-server`)).ok).toBe(true)
    await instance.kill('SIGTERM')
  },
)
