// The image of the Dockerfile, built by buildah and run as its user: it serves, issues a token, and reports its health.
// A build takes minutes, so it is made on request: SERVICE_BUILD_PARTS=1 npx vitest run test/tools/image.test.ts
// It needs root, buildah and debootstrap (apt-get install --no-install-recommends buildah debootstrap), and the npm registry.
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { INTEROP_CACHE } from '../interop/toolchain.ts'
import { freePort } from '../support/free_port.ts'

const call = promisify(execFile)
const reason = missing()
if (reason) process.stderr.write(`the image is left out: ${reason}\n`)
// Without an engine. Where overlays are not possible, as in most containers, each layer is a copy, which takes minutes more.
const hasOverlays = !reason && spawnSync('buildah', ['--storage-driver=overlay', 'info']).status === 0
const env = { ...process.env, STORAGE_DRIVER: hasOverlays ? 'overlay' : 'vfs', BUILDAH_ISOLATION: 'chroot' }
const buildah = async (...args: string[]) =>
  (await call('buildah', args, { env, cwd: packageRoot, maxBuffer: 1 << 26 })).stdout.trim()

function missing(): string | undefined {
  if (!process.env['SERVICE_BUILD_PARTS'])
    return 'SERVICE_BUILD_PARTS=1 npx vitest run test/tools/image.test.ts builds it'
  if (process.getuid?.() !== 0) return 'buildah without an engine needs root'
  const absent = ['buildah', 'debootstrap'].filter((name) => spawnSync('which', [name]).status !== 0)
  if (absent.length > 0) return `apt-get install --no-install-recommends ${absent.join(' ')}`
}

const KEY = 'the admin key of this test'
const RESOURCE = 'https://notes.example.com/mcp'

describe.skipIf(reason)('the image', () => {
  let container: string
  let ports: { issuer: string; admin: string }
  let server: ReturnType<typeof spawn>
  const settings = () => ({
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${new URL(ports.issuer).port}`,
    SERVICE_SERVER_ISSUER: ports.issuer,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${new URL(ports.admin).port}`,
    SERVICE_ADMIN_API_KEY: KEY,
  })
  const inContainer = (...command: string[]) => [
    'run',
    ...Object.entries(settings()).map(([name, value]) => `--env=${name}=${value}`),
    container,
    '--',
    ...command,
  ]
  const run = (...command: string[]) => buildah(...inContainer(...command))
  const admin = async (at: string, body: object) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const answer = await fetch(`${ports.admin}/admin/${at}`, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(201)
    return (await answer.json()) as Record<string, string>
  }

  beforeAll(async () => {
    const folder = path.join(INTEROP_CACHE, 'image-base')
    mkdirSync(folder, { recursive: true })
    await call(path.join(packageRoot, 'test/tools/image/base.sh'), [folder], { env, maxBuffer: 1 << 26 })
    // The layers and the npm cache are kept: a second build with the same dependencies downloads and compiles none of them.
    const npm = path.join(folder, 'npm')
    mkdirSync(npm, { recursive: true })
    const options = ['--layers', '--pull-never', `--volume=${npm}:/root/.npm`, '--build-arg', 'COMMIT=of-the-test']
    await buildah('bud', ...options, '-t', 'service:test', '.')
    container = await buildah('from', '--pull-never', 'service:test')
    ports = { issuer: `http://127.0.0.1:${await freePort()}`, admin: `http://127.0.0.1:${await freePort()}` }
    server = spawn('buildah', inContainer('service', 'serve'), { env, stdio: 'inherit' })
    await vi.waitFor(async () => expect((await fetch(`${ports.issuer}/ready`)).status).toBe(200), {
      timeout: 60_000,
      interval: 200,
    })
  }, 1_200_000)
  afterAll(async () => {
    server?.kill('SIGTERM')
    if (server) await once(server, 'exit')
    if (container) await buildah('rm', container)
  }, 60_000)

  test('runs without root on Node 24 with the newest HTTP engine, and keeps its state for its user only', async () => {
    expect(await run('id', '-u')).toBe('1000')
    expect(await run('stat', '-c', '%a', '/data')).toBe('700')
    expect(await run('node', '-p', 'process.version')).toMatch(/^v24\./)
    expect(await run('service', 'version')).toContain('commit=of-the-test')
    expect(await run('service', 'doctor')).toMatch(/^ok +http engine: uWebSockets\.js 20\.57/m)
  })

  test('issues a token', async () => {
    await admin('resources', {
      slug: 'notes',
      uri: RESOURCE,
      backend_kind: 'mint',
      display_name: 'Notes',
      scopes: [{ name: 'notes:read', description: 'read' }],
    })
    const { client_id = '', client_secret = '' } = await admin('clients', {
      client_name: 'job',
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'client_secret_post',
      scope: 'notes:read',
    })
    const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, resource: RESOURCE })
    const answer = await fetch(`${ports.issuer}/oauth/token`, { method: 'POST', body })
    expect(await answer.json()).toMatchObject({ token_type: 'Bearer', access_token: expect.stringMatching(/^ey/) })
  })

  test('has a health check that asks the liveness probe', async () => {
    const dockerfile = readFileSync(path.join(packageRoot, 'Dockerfile'), 'utf8')
    const check = JSON.parse(/^ {2}CMD (\[.*fetch.*\])$/m.exec(dockerfile)?.[1] ?? '') as string[]
    const at = (port: string) => check.map((word) => word.replace('127.0.0.1:9000', `127.0.0.1:${port}`))
    expect(check.join(' ')).toContain('/livez')
    await run(...at(new URL(ports.issuer).port))
    await expect(run(...at(String(await freePort())))).rejects.toMatchObject({ code: 1 })
  })
})
