// Section Q of the attack list: information that must not leak. One test per row, named by its id.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { Browser } from '../support/browser.ts'
import { authorizeUrl, post, register, walk } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { placed } from '../support/instances.ts'
import {
  ADMIN_KEY,
  addClient,
  addResource,
  addUser,
  PASSWORD,
  startService,
  type TestService,
} from '../support/service.ts'
import { pause, Wire } from '../support/wire.ts'
import { operate } from '../torture/scene.ts'

const HOST = 'host: localhost\r\n'

describe.each(['uws', 'node'])('on %s', (engine) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ SERVICE_SERVER_HTTP_ENGINE: engine, SERVICE_DCR_MODE: 'open' })
  })
  afterAll(() => service.close())
  const series = async () => {
    const text = await (await fetch(`${service.admin}/metrics`)).text()
    return text.split('\n').filter((line) => line.startsWith('core_http_requests_total'))
  }

  test('Q02 paths, methods, errors and client ids of callers do not become metric labels', async () => {
    const port = Number(new URL(service.issuer).port)
    const before = (await series()).length
    for (let i = 0; i < 200; i++) {
      await fetch(`${service.issuer}/made-up-${i}`)
      await fetch(`${service.issuer}/.well-known/oauth-protected-resource/made-up-${i}`)
      await post(`${service.issuer}/oauth/token`, undefined, { grant_type: `made-up-${i}`, client_id: `made-up-${i}` })
    }
    for (const method of ['MADEUP', 'PROPFIND', 'get']) {
      const wire = await Wire.open(port)
      await wire
        .send(`${method} / HTTP/1.1\r\n${HOST}\r\n`)
        .answer()
        .catch(() => undefined)
      wire.leave()
    }
    expect((await series()).length - before).toBeLessThan(12)
    const metrics = await (await fetch(`${service.admin}/metrics`)).text()
    expect(metrics).not.toMatch(/made-?up|PROPFIND/i)
  })

  test('Q04 health probes and metadata documents reveal only the health, and metrics are on the admin listener only', async () => {
    for (const probe of ['/health', '/ready', '/livez']) {
      const body = (await (await fetch(service.issuer + probe)).json()) as Record<string, unknown>
      expect(Object.keys(body).sort()).toEqual(probe === '/livez' ? ['status', 'time'] : ['db', 'status', 'time'])
    }
    for (const missing of ['/metrics', '/admin', '/admin/clients', '/debug', '/.env'])
      expect((await fetch(service.issuer + missing)).status).toBe(404)
    const { keys } = (await (await fetch(`${service.issuer}/.well-known/jwks.json`)).json()) as { keys: object[] }
    for (const key of keys) expect(Object.keys(key).filter((name) => /^(d|p|q|dp|dq|qi|k|oth)$/.test(name))).toEqual([])
  })

  test('Q06 no page loads anything from another origin, or reveals to another site where the user was', async () => {
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const browser = new Browser()
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    await walk(service, url, user, browser, 'deny')
    const consent = await browser.follow(url)
    expect(consent.text).toContain('value="allow"')
    const pages = [
      consent,
      await new Browser().follow(url),
      await new Browser().open(`${service.issuer}/login`),
      await new Browser().open(authorizeUrl(service, { client_id: 'unknown' })),
      await new Browser().open(`${service.issuer}/consent`),
    ]
    const shown = pages.filter(({ headers }) => headers.get('content-type')?.startsWith('text/html'))
    expect(shown.length).toBeGreaterThanOrEqual(4)
    for (const { text, headers } of shown) {
      expect(headers.get('referrer-policy')).toMatch(/^(no-referrer|same-origin)$/)
      expect(headers.get('content-security-policy')).toMatch(/default-src 'none'/)
      const loaded = [
        ...text.matchAll(/<(?:script|img|link|iframe|object|embed|source|video|audio)\b[^>]*?(?:src|href)="([^"]*)"/g),
      ]
      for (const [, from = ''] of loaded) expect(new URL(from, service.issuer).origin).toBe(service.issuer)
    }
  })

  test('Q08 a client_secret in a request is not repeated in any answer', async () => {
    const secret = 'cs_SECRETSECRETSECRETSECRET'
    const { client_id } = await addClient(service)
    const answers = [
      await fetch(authorizeUrl(service, { client_id, client_secret: secret }), { redirect: 'manual' }),
      await fetch(authorizeUrl(service, { client_id: 'unknown', client_secret: secret }), { redirect: 'manual' }),
      await fetch(`${service.issuer}/oauth/token?client_secret=${secret}`, { method: 'POST' }),
      ...(await Promise.all(
        ['token', 'introspect', 'revoke'].map((endpoint) =>
          fetch(`${service.issuer}/oauth/${endpoint}`, {
            method: 'POST',
            body: new URLSearchParams({ client_id, client_secret: secret, grant_type: secret, token: 'x' }),
          }),
        ),
      )),
      await register(service, { client_secret: secret, redirect_uris: [secret] }),
    ]
    for (const answer of answers) {
      expect(answer.status).toBeGreaterThanOrEqual(300)
      expect((await answer.text()) + JSON.stringify([...answer.headers])).not.toContain(secret)
    }
  })
})

test('Q03 names that callers choose add no line to the log, and no secret of a caller is in a line', async () => {
  const more = { SERVICE_DCR_MODE: 'open', SERVICE_LOG_LEVEL: 'debug' }
  const { instance, admin, issuer } = await placed(tempFolder(), more)
  await instance.start()
  const evil = 'Evil\r\n{"level":"fatal","msg":"forged"}\u001b[2J"\\'
  const client = await operate<{ client_id: string; client_secret: string }>(admin, 'POST', 'clients', {
    client_name: 'Job',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_post',
  })
  await operate(admin, 'POST', 'users', { email: 'ada@example.com', password: PASSWORD, name: 'Ada' })
  const metadata = { client_name: evil, redirect_uris: [`https://x.example/${evil}`] }
  await register({ issuer }, metadata, { 'user-agent': '{"level":"fatal"}' })
  await post(`${issuer}/oauth/token`, undefined, { grant_type: evil, client_id: evil, client_secret: evil })
  await fetch(`${issuer}/${encodeURIComponent(evil)}?access_token=${client.client_secret}`)
  const { body } = await post(`${issuer}/oauth/token`, undefined, { grant_type: 'client_credentials', ...client })
  const token = String(body['access_token'])
  await post(`${issuer}/oauth/introspect`, undefined, { ...client, token })
  await post(`${issuer}/oauth/revoke`, undefined, { ...client, token })
  while (!instance.text().includes('/oauth/revoke')) await pause(20)
  const output = instance.text()
  const lines = output.split('\n').filter(Boolean)
  for (const line of lines.filter((line) => line.startsWith('{')))
    expect((JSON.parse(line) as { level: string }).level).not.toBe('fatal')
  expect(lines.filter((line) => line.includes('forged') && !line.startsWith('{"'))).toEqual([])
  expect(output).not.toContain('\u001b')
  for (const secret of [client.client_secret, ADMIN_KEY, PASSWORD, token, token.split('.')[2] ?? 'x'])
    expect(output).not.toContain(secret)
})

// How long refusals take: C11 in c_token.test.ts.
test('Q07 secrets are compared in constant time: no file compares a hash, a code or a MAC with ===', () => {
  const files = readdirSync(path.join(packageRoot, 'src'), { recursive: true, encoding: 'utf8' })
  const secret =
    /\b(?:\w*(?:secret|api_key|apiKey|password_hash|secret_hash|code_hash|verifier|challenge|mac|csrf\w*)|hash)\b/
  const compared = files
    .filter((file) => file.endsWith('.ts') && !/^(bench|cli|config|admin.ui)/.test(file))
    .flatMap((file) =>
      readFileSync(path.join(packageRoot, 'src', file), 'utf8')
        .split('\n')
        .filter((line) => !/^\s*(\*|\/\/)/.test(line))
        .flatMap((line) =>
          [...line.matchAll(/([\w.[\]'?]+) [!=]==? ([\w.[\]'?]+)/g)]
            .filter(
              ([, left = '', right = '']) =>
                secret.test(left.split('.').at(-1) ?? '') || secret.test(right.split('.').at(-1) ?? ''),
            )
            .filter(
              ([, left = '', right = '']) =>
                !/^(undefined|null|''|true|false|\d+|typeof|'.*)$/.test(right) && left !== 'typeof',
            )
            .map(([found]) => `${file}: ${found}`),
        ),
    )
  expect(compared).toEqual([])
})
