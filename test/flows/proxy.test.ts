// A real proxy in front: nginx when it is installed, otherwise one made of node:http (the titles say which).
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { authorize, redeem, register as send, signIn } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

/** The nginx of the system, if there is one. */
const nginx = (() => {
  for (const file of ['/usr/sbin/nginx', '/usr/bin/nginx', '/opt/homebrew/bin/nginx'])
    try {
      execFileSync(file, ['-v'], { stdio: 'ignore' })
      return file
    } catch {}
  return undefined
})()

interface Proxy {
  url: string
  close(): void
}
/** Listens on `port` and forwards to `target`; adds the address of its peer to X-Forwarded-For. */
async function startProxy(port: number, target: number): Promise<Proxy> {
  const url = `http://127.0.0.1:${port}`
  if (!nginx) {
    const server = createServer((incoming, outgoing) => {
      const seen = [incoming.headers['x-forwarded-for'], incoming.socket.remoteAddress].filter(Boolean).join(', ')
      const headers = { ...incoming.headers, 'x-forwarded-for': seen }
      const options = { host: '127.0.0.1', port: target, method: incoming.method, path: incoming.url, headers }
      incoming.pipe(
        httpRequest(options, (reply) => reply.pipe(outgoing.writeHead(reply.statusCode ?? 502, reply.headers))),
      )
    })
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return { url, close: () => void server.close() }
  }
  const folder = tempFolder()
  mkdirSync(path.join(folder, 'temp'))
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path temp/${name};`,
  )
  writeFileSync(
    path.join(folder, 'nginx.conf'),
    `daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log stderr;
     events { worker_connections 64; }
     http {
       access_log off; ${temporary.join(' ')}
       upstream service { server 127.0.0.1:${target}; keepalive 4; }
       server {
         listen 127.0.0.1:${port};
         location / {
           proxy_pass http://service; proxy_http_version 1.1;
           proxy_set_header Connection ""; proxy_set_header Host $http_host;
           proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
         }
       }
     }`,
  )
  const child: ChildProcess = spawn(nginx, ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], { stdio: 'ignore' })
  await vi.waitFor(() => fetch(url), { timeout: 5000, interval: 25 })
  return { url, close: () => void child.kill('SIGTERM') }
}

/** A service whose issuer is the address of the proxy in front of it. */
async function startBehind(
  env: Record<string, string>,
): Promise<{ service: TestService; proxy: Proxy; close(): Promise<void> }> {
  const port = await freePort()
  const service = await startService({
    SERVICE_SERVER_ISSUER: `http://127.0.0.1:${port}`,
    SERVICE_DCR_MODE: 'open',
    SERVICE_RATE_LIMIT_AUTH_FAIL_MAX: '3',
    ...env,
  })
  const proxy = await startProxy(port, Number(new URL(service.issuer).port))
  return {
    service: { ...service, issuer: proxy.url },
    proxy,
    async close() {
      proxy.close()
      await service.close()
    },
  }
}
type Behind = Awaited<ReturnType<typeof startBehind>>
const register = async ({ service, proxy }: Behind, headers: Record<string, string>) => {
  const response = await send({ issuer: proxy.url }, {}, headers)
  expect(response.status).toBe(201)
  const { client_id } = (await response.json()) as { client_id: string }
  const trails = await okAdmin<{ address: string }[]>(service, 'GET', `/admin/connections?client_id=${client_id}`)
  return trails.map(({ address }) => address)
}
const wrongLogin = async ({ proxy }: Behind, headers: Record<string, string>) => {
  const browser = new Browser()
  const url = `${proxy.url}/login`
  const fields = { ...Object.fromEntries(fieldsOf(await browser.open(url))), email: 'a@example.com', password: 'x' }
  return (await browser.post(url, fields, headers)).status
}

describe(`behind ${nginx ? 'nginx' : 'a proxy of node:http, as nginx is not installed'}`, () => {
  describe('with server.trusted_proxies', () => {
    let behind: Behind
    beforeAll(async () => {
      behind = await startBehind({ SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.0/8' })
    })
    afterAll(() => behind.close())

    test('a whole sign-in works, with cookies, redirects and the configured issuer', async () => {
      const { service, proxy } = behind
      const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
      const authorized = await authorize(service, client, user, { resource: resource.uri })
      expect(authorized.callback.searchParams.get('iss')).toBe(proxy.url)
      expect((await redeem(service, client, authorized)).status).toBe(200)
    })

    test('the client address is the peer of the proxy, or the address that an outer trusted proxy forwarded', async () => {
      expect(await register(behind, {})).toEqual(['127.0.0.1'])
      // The test itself connects from 127.0.0.1, as an outer trusted proxy would.
      expect(await register(behind, { 'x-forwarded-for': '198.51.100.7' })).toEqual(['198.51.100.7'])
      expect(await register(behind, { 'x-forwarded-for': '1.2.3.4, 198.51.100.7' })).toEqual(['198.51.100.7'])
      expect(await register(behind, { 'x-forwarded-for': 'nonsense' })).toEqual(['127.0.0.1'])
    })

    test('the lockout counts each address behind the proxy separately, and the audit log names it', async () => {
      const at = (address: string) => wrongLogin(behind, { 'x-forwarded-for': address })
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push(await at('198.51.100.20'))
      expect(statuses).toEqual([422, 422, 422, 429])
      expect(await at('198.51.100.21')).toBe(422)
      const events = (await eventsOf(behind.service, 'auth_locked_out')) as unknown as { ip: string }[]
      expect(events.map(({ ip }) => ip)).toEqual(['198.51.100.20'])
    })
  })

  describe('without server.trusted_proxies', () => {
    let behind: Behind
    beforeAll(async () => {
      behind = await startBehind({})
    })
    afterAll(() => behind.close())

    test('every client has the address of the proxy, whatever the headers are', async () => {
      const forged = { 'x-forwarded-for': '198.51.100.7', forwarded: 'for=198.51.100.7', 'x-real-ip': '198.51.100.7' }
      expect(await register(behind, forged)).toEqual(['127.0.0.1'])
    })

    test('changing addresses do not avoid the lockout', async () => {
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push(await wrongLogin(behind, { 'x-forwarded-for': `198.51.100.${i}` }))
      expect(statuses).toEqual([422, 422, 422, 429])
    })

    test('a forged host or scheme changes no answer', async () => {
      const headers = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
      }
      const text = await (await fetch(`${behind.proxy.url}/.well-known/oauth-authorization-server`, { headers })).text()
      expect(JSON.parse(text).issuer).toBe(behind.proxy.url)
      expect(text).not.toContain('evil')
    })
  })

  test('forwarded addresses of a proxy that is not in the list are ignored', async () => {
    const behind = await startBehind({ SERVICE_SERVER_TRUSTED_PROXIES: '10.0.0.0/8,fd00::/8' })
    try {
      expect(await register(behind, { 'x-forwarded-for': '198.51.100.7' })).toEqual(['127.0.0.1'])
      const user = await addUser(behind.service)
      const browser = new Browser()
      const answer = await signIn(behind.service, browser, await browser.open(`${behind.proxy.url}/login`), user.email)
      expect(answer.status).toBe(303)
    } finally {
      await behind.close()
    }
  })
})
