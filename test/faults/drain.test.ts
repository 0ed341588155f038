// The end of an instance behind the proxies that operators use: no request is lost.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ended } from '../support/child.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { type Placed, placed } from '../support/instances.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { eventually, pause } from '../support/wire.ts'

const has = (program: string) => spawnSync(program, ['-v']).status === 0

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())
const children: ChildProcess[] = []
afterEach(async () => {
  await Promise.all(children.splice(0).map(ended))
})

interface Proxy {
  program: string
  config(port: number, instances: readonly Placed[]): string
  args(file: string, folder: string): string[]
}
const PROXIES: readonly Proxy[] = [
  {
    program: 'haproxy',
    config: (port, instances) => `
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
frontend public
  bind 127.0.0.1:${port}
  default_backend service
backend service
  option httpchk
  http-check send meth GET uri /ready ver HTTP/1.1 hdr Host localhost
  http-check expect status 200
  default-server inter 2s fall 2
${instances.map((each, i) => `  server s${i} 127.0.0.1:${each.port} check`).join('\n')}
`,
    args: (file) => ['-db', '-f', file],
  },
  {
    program: 'nginx',
    config: (port, instances) => `
daemon off;
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path temp;`).join(' ')}
  upstream service {
${instances.map(({ port: at }) => `    server 127.0.0.1:${at};`).join('\n')}
    keepalive 16;
  }
  server {
    listen 127.0.0.1:${port};
    # nginx has no checks of its own: it repeats a request whose kept connection the instance has just closed.
    location / { proxy_pass http://service; proxy_next_upstream error timeout non_idempotent; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; }
  }
}
`,
    args: (file, folder) => ['-p', folder, '-c', file],
  },
]

describe.each(PROXIES)('behind $program', ({ program, config, args }) => {
  test.skipIf(!has(program)).each([1, 2])(
    'an instance with %s front threads that ends loses no request, and is not ready before it stops to accept',
    async (threads) => {
      const shared = {
        SERVICE_STORAGE_DRIVER: 'postgres',
        SERVICE_STORAGE_POSTGRES_DSN: await server.migrated(),
        SERVICE_STORAGE_POSTGRES_MAX_CONNS: '6',
        SERVICE_SIGNING_KEY_PATH: path.join(tempFolder(), 'keys'),
        SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1',
        SERVICE_SERVER_FRONT_THREADS: String(threads),
      }
      const instances = [await placed(tempFolder(), shared), await placed(tempFolder(), shared)] as const
      for (const { instance } of instances) await instance.start()
      const folder = tempFolder()
      mkdirSync(folder, { recursive: true })
      const [port, file] = [await freePort(), path.join(folder, 'proxy.conf')]
      writeFileSync(file, config(port, instances))
      children.push(spawn(program, args(file, folder), { stdio: 'ignore', cwd: folder }))
      const ask = () =>
        fetch(`http://127.0.0.1:${port}/oauth/token`, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'client_credentials', client_id: 'nobody' }),
        }).then(async (response) => {
          await response.arrayBuffer()
          return response.status
        })
      // A request without a client is refused, by an instance and not by the proxy.
      await eventually(async () => [400, 401].includes(await ask().catch(() => 0)))

      const answers = new Map<number, number>()
      let isOver = false
      const clients = Array.from({ length: 8 }, async () => {
        while (!isOver) {
          const status = await ask().catch(() => 0)
          answers.set(status, (answers.get(status) ?? 0) + 1)
          await pause(5)
        }
      })
      await pause(500)
      const [ending] = instances
      const ended = ending.instance.kill('SIGTERM')
      let isOpen = true
      void ended.then(() => {
        isOpen = false
      })
      await eventually(async () => {
        const response = await fetch(`http://127.0.0.1:${ending.port}/ready`, { headers: { connection: 'close' } })
        return isOpen && response.status === 503
      })
      await ended
      await pause(500)
      isOver = true
      await Promise.all(clients)
      const lost = [...answers].filter(([status]) => status !== 400 && status !== 401)
      expect(lost).toEqual([])
      await instances[1].instance.kill('SIGTERM')
    },
    120_000,
  )
})
