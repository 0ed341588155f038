// A proxy whose requests go to the instances of a service in turns, as those of a load balancer do.
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestService } from './service.ts'

export interface Turns {
  /** The issuer of the instances. */
  origin: string
  /** The instances, from now on. */
  to(instances: readonly Pick<TestService, 'app'>[]): void
  close(): void
}

/** Starts a proxy without instances. */
export async function openTurns(): Promise<Turns> {
  let ports: string[] = []
  let turn = 0
  const server = createServer((from, to) => {
    const port = ports[turn++ % ports.length]
    const { method, headers } = from
    const options = { host: 'localhost', port, path: from.url, method, headers, agent: false }
    const onward = request(options, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(to)
    })
    onward.on('error', () => to.destroy())
    from.pipe(onward)
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    to(instances) {
      ports = instances.map(({ app }) => app.config.server.address.split(':').at(-1) ?? '')
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
