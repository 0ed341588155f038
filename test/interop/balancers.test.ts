// The files of docs/operate/deploy.md for nginx, HAProxy and Envoy, run by these programs in front of the native engine. A relay between the
// proxy and the service records which of the two ends an idle connection.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Agent, type AgentOptions, request as httpsRequest } from 'node:https'
import { connect, createServer, type Socket } from 'node:net'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadNative } from '../../src/http/uws.ts'
import { docs, isBlock } from '../docs/markdown.ts'
import { ended } from '../support/child.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { cert, key } from '../support/localhost_certificate.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { pause } from '../support/wire.ts'
import { python } from './toolchain.ts'

const envoy = await python('envoy.txt')
const found = (name: string): string | undefined =>
  ['/usr/sbin', '/usr/bin', '/opt/homebrew/bin']
    .map((folder) => path.join(folder, name))
    .find((file) => spawnSync(file, ['-v']).status === 0)

interface Proxy {
  name: string
  program: string | undefined
  /** The fenced block of the document. */
  block: string
  args: (file: string) => string[]
  wrap?: (text: string) => string
  /** Whether it can limit exactly how long a connection is idle. */
  endsIdle: boolean
  checksHealth: boolean
}
const PROXIES: Proxy[] = [
  {
    name: 'nginx',
    program: found('nginx'),
    block: 'nginx',
    args: (file) => ['-p', path.dirname(file), '-c', file, '-e', 'stderr'],
    wrap: (text) => `daemon off; pid nginx.pid; error_log stderr; events {}
http { access_log off; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
${text}}`,
    endsIdle: true,
    checksHealth: false,
  },
  {
    name: 'HAProxy',
    program: found('haproxy'),
    block: 'haproxy',
    args: (file) => ['-db', '-f', file],
    endsIdle: false,
    checksHealth: true,
  },
  {
    name: 'Envoy',
    program: 'command' in envoy ? path.join(path.dirname(envoy.command[0] as string), 'envoy') : undefined,
    block: 'yaml envoy',
    args: (file) => ['--disable-hot-restart', '--log-level', 'error', '--concurrency', '2', '-c', file],
    endsIdle: true,
    checksHealth: true,
  },
]

/** Passes bytes on, and records them. */
async function openRelay(to: number) {
  const seen: string[] = []
  const idle = { byProxy: 0, byService: 0 }
  const open = new Set<Socket>()
  const idleNow = new Set<Socket>()
  let ending = new Set<Socket>()
  const server = createServer((socket) => {
    const upstream = connect(to, '127.0.0.1')
    open.add(socket)
    let isProbe = false
    let ended = false
    socket.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1')
      seen.push(text)
      if (text.startsWith('GET /ready')) {
        isProbe = true
        open.delete(socket)
      }
      // What a proxy meets that sends a request while the service closes its idle connections. New connections stay.
      if (ending.has(socket)) {
        for (const each of ending) each.destroy()
        return
      }
      idleNow.delete(socket)
      upstream.write(bytes)
    })
    upstream.pipe(socket)
    upstream.on('data', () => {
      if (!isProbe) idleNow.add(socket)
    })
    const end = (by: keyof typeof idle) => {
      if (!ended && !isProbe) idle[by]++
      ended = true
      open.delete(socket)
      idleNow.delete(socket)
    }
    socket
      .on('close', () => {
        end('byProxy')
        upstream.destroy()
      })
      .on('end', () => end('byProxy'))
      .on('error', () => {})
    upstream
      .on('close', () => socket.destroy())
      .on('end', () => end('byService'))
      .on('error', () => {})
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    port,
    seen,
    idle,
    open,
    /** The next request of a connection that is idle now meets its end, and that of all others that are idle now. */
    cut: () => {
      ending = new Set(idleNow)
      return ending.size
    },
    close: () => {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}

const TEXT = docs.find(({ file }) => file === 'docs/operate/deploy.md')
function fileOf({ block, wrap }: Proxy, folder: string, port: number, to: number): string {
  const shown = TEXT?.steps
    .filter(isBlock)
    .find(({ lang, info }) => info === block || (lang === block && info === block))
  if (!shown) throw new Error(`deploy.md has no block ${block}`)
  writeFileSync(path.join(folder, 'auth.example.com.pem'), `${cert}\n${key}\n`)
  writeFileSync(path.join(folder, 'auth.example.com.key'), key)
  const text = shown.text
    .replace(/\/etc\/(ssl|haproxy|envoy)\//g, `${folder}/`)
    .replace(/listen 443/, `listen 127.0.0.1:${port}`)
    .replace('bind :443', `bind 127.0.0.1:${port}`)
    .replace('address: 0.0.0.0, port_value: 443', `address: 127.0.0.1, port_value: ${port}`)
    .replace('127.0.0.1:9000', `127.0.0.1:${to}`)
    .replace('port_value: 9000', `port_value: ${to}`)
  const file = path.join(folder, `proxy.${block.startsWith('yaml') ? 'yaml' : 'conf'}`)
  writeFileSync(file, `${wrap ? wrap(text) : text}\n`)
  return file
}

interface Asked {
  status: number
  location: string
  body: string
}
const agentOf = (more: AgentOptions = {}) => new Agent({ ca: cert, keepAlive: true, maxSockets: 40, ...more })
const ask = (
  port: number,
  place: string,
  { agent, form, headers }: { agent: Agent; form?: string; headers?: Record<string, string> },
) =>
  new Promise<Asked>((resolve, reject) => {
    const sent = httpsRequest(
      {
        host: '127.0.0.1',
        servername: 'localhost',
        port,
        path: place,
        agent,
        method: form ? 'POST' : 'GET',
        headers: {
          host: 'auth.example.com',
          ...(form ? { 'content-type': 'application/x-www-form-urlencoded', 'content-length': form.length } : {}),
          ...headers,
        },
      },
      (answer) => {
        let body = ''
        answer
          .setEncoding('utf8')
          .on('data', (more) => {
            body += more
          })
          .on('error', reject)
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, location: answer.headers.location ?? '', body }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(form)
  })

interface Bench {
  service: TestService
  relay: Awaited<ReturnType<typeof openRelay>>
  port: number
  agent: Agent
  token: () => Promise<Asked>
}

async function during(proxy: Proxy, run: (bench: Bench) => Promise<void>): Promise<void> {
  const service = await startService({ SERVICE_SERVER_HTTP_ENGINE: 'uws', SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1' })
  const relay = await openRelay(Number(new URL(service.issuer).port))
  const port = await freePort()
  const client = await addClient(service, { grant_types: ['client_credentials'] })
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: client.client_id,
    client_secret: client.client_secret ?? '',
  }).toString()
  const agent = agentOf()
  const child: ChildProcess = spawn(proxy.program ?? '', proxy.args(fileOf(proxy, tempFolder(), port, relay.port)), {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text) => {
      said += text
    })
  try {
    const isUp = () =>
      ask(port, '/livez', { agent }).then(
        ({ status }) => status,
        (error: unknown) => `${error} ${said}`,
      )
    await expect.poll(isUp, { timeout: 20_000 }).toBe(200)
    await run({ service, relay, port, agent, token: () => ask(port, '/oauth/token', { agent, form }) })
  } finally {
    agent.destroy()
    await ended(child)
    relay.close()
    await service.close()
  }
}

describe.each(PROXIES)('the file for $name', (proxy) => {
  const isMissing = !proxy.program || !loadNative()
  if (isMissing) process.stderr.write(`${proxy.name} is left out: the program or the native engine is missing\n`)

  test.skipIf(isMissing)('forwards the address of the client, and requests of 13 KB', { timeout: 90_000 }, async () => {
    await during(proxy, async ({ relay, port, agent, token }) => {
      expect((await token()).status).toBe(200)
      relay.seen.length = 0
      const long = await ask(port, `/account?state=${'s'.repeat(13_000)}`, {
        agent,
        headers: { 'x-forwarded-for': '203.0.113.9' },
      })
      expect(long.status).toBe(303)
      expect(long.location).toContain('/login?redirect=')
      const sent = relay.seen.join('').split('GET /account').at(-1) ?? ''
      // Envoy appends the address, and names another one of the machine instead of loopback.
      expect(sent).toMatch(/x-forwarded-for: (127\.0\.0\.1|203\.0\.113\.9, ?(?!203)[\d.]+)\r\n/i)
      expect(sent).toMatch(/ HTTP\/1\.1\r\n/)
    })
  })

  test.skipIf(isMissing)(
    `token requests between pauses of any length are answered, ${proxy.endsIdle ? 'because the proxy ends every idle connection' : 'also when they meet the end of a connection'}`,
    { timeout: 120_000 },
    async () => {
      await during(proxy, async ({ relay, token }) => {
        const many = async () => (await Promise.all(Array.from({ length: 30 }, token))).map(({ status }) => status)
        expect(new Set(await many())).toEqual(new Set([200]))
        if (proxy.endsIdle) {
          await expect.poll(() => relay.idle.byProxy, { timeout: 30_000 }).toBeGreaterThan(0)
          await expect.poll(() => relay.open.size, { timeout: 30_000 }).toBe(0)
          expect(relay.idle.byService).toBe(0)
        }
        for (const ms of [500, 5500]) {
          await pause(ms)
          // HAProxy closes some idle connections itself.
          if (!proxy.endsIdle) expect(relay.cut()).toBeGreaterThan(0)
          expect(new Set(await many())).toEqual(new Set([200]))
        }
      })
    },
  )

  if (proxy.checksHealth)
    test.skipIf(isMissing)('an instance that is not ready gets no requests', { timeout: 90_000 }, async () => {
      await during(proxy, async ({ service, token }) => {
        service.app.lifecycle.draining = true
        await expect.poll(async () => (await token()).status, { timeout: 30_000 }).toBe(503)
        service.app.lifecycle.draining = false
        await expect.poll(async () => (await token()).status, { timeout: 30_000 }).toBe(200)
      })
    })
})

test('with the settings for AWS and Google Cloud an idle connection outlives the native engine', {
  timeout: 60_000,
}, async () => {
  const blocks = TEXT?.steps.filter(isBlock).filter(({ text }) => text.includes('http_engine: node')) ?? []
  expect(blocks.map(({ text }) => text.match(/idle_timeout: (\w+)/)?.[1])).toEqual(['75s', '620s'])
  const service = await startService({ SERVICE_SERVER_HTTP_ENGINE: 'node', SERVICE_SERVER_IDLE_TIMEOUT: '75s' })
  try {
    const socket = connect(Number(new URL(service.issuer).port), '127.0.0.1')
    let text = ''
    let isClosed = false
    socket
      .on('data', (bytes) => {
        text += bytes
      })
      .on('close', () => {
        isClosed = true
      })
    const get = 'GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n'
    socket.write(get)
    await pause(14_000)
    expect(isClosed).toBe(false)
    expect(text).toMatch(/keep-alive: timeout=75/i)
    text = ''
    socket.write(get)
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 200/)
    socket.destroy()
  } finally {
    await service.close()
  }
})

const haproxy = found('haproxy')
test.skipIf(!haproxy || !loadNative())(
  'checks of HAProxy: its default gets an answer from the admin listener only, and a connection shows no readiness',
  { timeout: 60_000 },
  async () => {
    const service = await startService({ SERVICE_SERVER_HTTP_ENGINE: 'uws' })
    const [folder, port] = [tempFolder(), new URL(service.issuer).port]
    const [socket, file] = [path.join(folder, 'stats'), path.join(folder, 'haproxy.cfg')]
    const backend = (name: string, lines: string) => `backend ${name}\n${lines} inter 500ms\n`
    const check = `  server s 127.0.0.1:${port} check`
    writeFileSync(
      file,
      `global\n  stats socket ${socket}\ndefaults\n  mode http\n  timeout connect 2s\n  timeout client 5s\n  timeout server 5s\n  timeout check 1s\n${[
        backend('connects', check),
        backend('public', `  option httpchk GET /ready\n${check}`),
        backend('admin', `  option httpchk GET /ready\n${check} port ${new URL(service.admin).port}`),
      ].join('')}`,
    )
    const proxy = spawn(haproxy ?? '', ['-db', '-f', file], { stdio: 'ignore' })
    /** The state of each server, as HAProxy knows it. */
    const states = async (): Promise<Record<string, string>> => {
      const text = await new Promise<string>((resolve, reject) => {
        let read = ''
        connect(socket)
          .on('error', reject)
          .on('data', (bytes) => {
            read += bytes
          })
          .on('end', () => resolve(read))
          .end('show stat\n')
      }).catch(() => '')
      const rows = text.split('\n').map((line) => line.split(','))
      return Object.fromEntries(rows.filter(([, name]) => name === 's').map((row) => [row[0], row[17]]))
    }
    try {
      await expect.poll(states, { timeout: 20_000 }).toEqual({ connects: 'UP', public: 'DOWN', admin: 'UP' })
      service.app.lifecycle.draining = true
      await expect.poll(states, { timeout: 20_000 }).toEqual({ connects: 'UP', public: 'DOWN', admin: 'DOWN' })
    } finally {
      proxy.kill('SIGKILL')
      await service.close()
    }
  },
)
