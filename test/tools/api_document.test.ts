// The OpenAPI documents, checked by the programs that their users have: redocly reads them, and schemathesis sends a running service the
// requests that they describe, valid and invalid ones. A program that cannot be installed is left out with one line.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { python, redocly } from '../interop/toolchain.ts'
import { okAdmin } from '../support/admin.ts'
import { authorize, redeem } from '../support/flow.ts'
import { tempFile, tempFolder } from '../support/folder.ts'
import {
  ADMIN_KEY,
  addClient,
  addResource,
  addUser,
  SEALED,
  startService,
  type TestService,
} from '../support/service.ts'
import { LOOPBACK } from '../support/xaa.ts'

interface Document {
  paths: Record<string, Record<string, unknown>>
}
const [redoclyChain, pythonChain] = await Promise.all([redocly(), python('schemathesis.txt')])
const REDOCLY = 'command' in redoclyChain ? redoclyChain.command[0] : undefined
const PYTHON = 'command' in pythonChain ? pythonChain.command[0] : undefined
const SETTINGS = path.join(packageRoot, 'test/tools/api_document')

const start = promisify(execFile)
/** Runs a program beside the service of this process, in an empty folder. Returns its exit code and everything that it printed. */
async function ran(program: string, args: readonly string[], more: Record<string, string> = {}) {
  const env = {
    ...process.env,
    NO_COLOR: '1',
    REDOCLY_TELEMETRY: 'off',
    PYTHONPATH: SETTINGS,
    PYTHONDONTWRITEBYTECODE: '1',
    ...more,
  }
  try {
    const { stdout } = await start(program, args, { cwd: tempFolder(), env, maxBuffer: 1 << 28 })
    return { code: 0, text: stdout }
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: unknown; stdout?: string; stderr?: string }
    return { code, text: stdout + stderr }
  }
}

let service: TestService
let documents: { admin: Document; public: Document }
beforeAll(async () => {
  service = await startService({
    ...LOOPBACK,
    ...SEALED,
    SERVICE_OAUTH_OPENID: 'true',
    SERVICE_DEVICE_ENABLED: 'true',
    SERVICE_CIBA_ENABLED: 'true',
    SERVICE_SCIM_ENABLED: 'true',
    SERVICE_ADMIN_SIGN_IN_ENABLED: 'true',
    SERVICE_ADMIN_SIGN_IN_LOCAL: 'true',
    SERVICE_ADMIN_SIGN_IN_URL: '<admin>',
    SERVICE_DCR_MODE: 'open',
    SERVICE_AGENTS_ENABLE_JWKS_LISTING: 'true',
    SERVICE_CONNECT_STATE_SECRET: 'a state secret of the tests, long enough',
    SERVICE_UI_LOGO_FILE: tempFile('logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>'),
  })
  service.app.reload = async () => ({ applied: [], needs_restart: [] })
  documents = {
    admin: await okAdmin<Document>(service, 'GET', '/admin/openapi.json'),
    public: JSON.parse(readFileSync(path.join(packageRoot, 'docs/reference/openapi-public.json'), 'utf8')),
  }
})
afterAll(() => service.close())

describe.skipIf(!REDOCLY)('redocly lint', () => {
  const lint = (document: object) =>
    ran(REDOCLY ?? '', ['lint', '--config', path.join(SETTINGS, 'redocly.yaml'), tempFile('openapi.json', document)])

  test.each(['admin', 'public'] as const)('has nothing against the %s document', async (which) => {
    const { code, text } = await lint(documents[which])
    expect(code, text).toBe(0)
  })

  test('finds a fault in a document', async () => {
    expect((await lint({ ...documents.public, tags: [] })).code).toBe(0)
    expect((await lint({ ...documents.public, components: {} })).code).not.toBe(0)
  })
})

const operationsOf = ({ paths }: Document) => Object.values(paths).flatMap((methods) => Object.keys(methods)).length

describe.skipIf(!PYTHON)('schemathesis', () => {
  /** Runs every check of the file of settings on a document. The cases are the same in every run. */
  const check = async (document: Document, settings: string, url: string, more: readonly string[], token = 'none') => {
    const fixed = ['--seed', '20261123', '--generation-database', 'none', '--no-shrink', '--continue-on-failure']
    const patient = ['--request-timeout', '60']
    const args = [
      '--config-file',
      path.join(SETTINGS, settings),
      'run',
      tempFile('openapi.json', document),
      '--url',
      url,
      ...fixed,
      ...patient,
      ...more,
    ]
    const { code, text } = await ran(path.join(path.dirname(PYTHON ?? ''), 'schemathesis'), args, { USER_TOKEN: token })
    // What it says before its findings is progress.
    return { code, text: text.slice(Math.max(0, text.search(/^=+ (FAILURES|ERRORS) =/m))) }
  }
  /** What the signed-in user of a browser sends, and the client of a resource server. */
  async function callers() {
    const client = await addClient(service, { scope: 'openid mcp:read' })
    await addResource(service, { policy: { runtime: { client_ids: [client.client_id] } } })
    const authorized = await authorize(service, client, await addUser(service), { scope: 'openid' })
    const cookie = [...authorized.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { body } = await redeem(service, client, authorized)
    const more = ['--auth', `${client.client_id}:${client.client_secret}`, '--header', `Cookie: ${cookie}`]
    return { more, token: String(body['access_token']) }
  }

  test('the admin API does what its document says', async () => {
    const key = ['--header', `Authorization: Bearer ${ADMIN_KEY}`]
    // The values at the bounds of every parameter take minutes: they are for a release, with SERVICE_API_COVERAGE=1.
    const phases = process.env['SERVICE_API_COVERAGE'] ? [] : ['--phases', 'examples,fuzzing,stateful']
    const examples = ['--max-examples', '2']
    const { code, text } = await check(documents.admin, 'admin.toml', service.admin, [...key, ...phases, ...examples])
    expect(code, text).toBe(0)
    expect(text).toContain(`Tested: ${operationsOf(documents.admin)}`)
  }, 600_000)

  test('the public endpoints do what their document says', async () => {
    const { more, token } = await callers()
    const examples = ['--max-examples', '10']
    const { code, text } = await check(documents.public, 'public.toml', service.issuer, [...more, ...examples], token)
    expect(code, text).toBe(0)
    expect(text).toContain(`Tested: ${operationsOf(documents.public)}`)
  }, 600_000)

  test('it finds a fault in a document', async () => {
    const wrong = structuredClone(documents.public)
    wrong.paths['/livez'] = { get: { responses: { 204: { description: 'Alive.' } } } }
    const { code, text } = await check(wrong, 'public.toml', service.issuer, ['--include-path', '/livez'])
    expect([code, text]).toEqual([1, expect.stringContaining('Undocumented status code')])
  }, 60_000)
})
