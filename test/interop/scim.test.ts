// Compliance checkers for SCIM servers that others wrote, against the service: no error, apart from queries by POST, which are not offered, and
// from the bodies of groups after PATCH, which may have 10,000 members and are not sent.
import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { federating } from '../support/openid_fake.ts'
import { scimClient } from '../support/scim.ts'
import { startService } from '../support/service.ts'
import { python } from './toolchain.ts'

const toolchain = await python('scim.txt')
/** RFC 7644 §3.4.3. */
const NOT_OFFERED = 'search_with_attributes'

/** RFC 7644 §3.5.2: 200 with the whole group, or 204. */
const WITHOUT_BODY = /^PATCH \/Groups\/\{id\}/

interface Checked {
  name: string
  status: string
  message?: string
}

/** Runs a checker against a service with SCIM. It ends with an error when it finds something. */
async function check(program: string, flags: (url: string, key: string) => string[]): Promise<string> {
  const [python = ''] = 'command' in toolchain ? toolchain.command : []
  const service = await startService(federating('http://localhost:9', { SERVICE_SCIM_ENABLED: 'true' }))
  const { key } = await scimClient(service)
  const run = promisify(execFile)(path.join(path.dirname(python), program), flags(`${service.issuer}/scim/v2`, key))
  const { stdout } = await run.catch((failed: { stdout: string }) => failed)
  await service.close()
  return stdout
}

test.skipIf('missing' in toolchain)('scim2-tester finds no error', { timeout: 120_000 }, async () => {
  const flags = (url: string, key: string) => ['--url', url, '--header', `Authorization: Bearer ${key}`, 'test']
  const found = await check('scim2', flags)
  const results = [...found.matchAll(/^([A-Z]+) (\w+)/gm)].map(([, status = '', check = '']) => ({ status, check }))
  expect(results.filter(({ status }) => status === 'SUCCESS').length, found).toBeGreaterThan(40)
  const failed = results.filter(({ status, check }) => /ERROR|CRITICAL/.test(status) && check !== NOT_OFFERED)
  expect(failed, found).toEqual([])
})

test.skipIf('missing' in toolchain)(
  'scim-sanity finds no error, without its leniency',
  { timeout: 120_000 },
  async () => {
    const flags = (url: string, key: string) => [
      'probe',
      url,
      '--token',
      key,
      '--json-output',
      '--i-accept-side-effects',
    ]
    const { results } = JSON.parse(await check('scim-sanity', flags)) as { results: Checked[] }
    expect(results.filter(({ status }) => status === 'pass').length).toBeGreaterThan(20)
    expect(results.filter(({ name, status }) => status === 'fail' && !WITHOUT_BODY.test(name))).toEqual([])
  },
)
