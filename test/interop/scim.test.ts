// scim2-tester, a compliance checker for SCIM servers that others wrote, against the service: no error, apart from queries by POST, which are not
// offered.
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

test.skipIf('missing' in toolchain)('scim2-tester finds no error', { timeout: 120_000 }, async () => {
  const [program = ''] = 'command' in toolchain ? toolchain.command : []
  const service = await startService(federating('http://localhost:9', { SERVICE_SCIM_ENABLED: 'true' }))
  const { key } = await scimClient(service)
  const scim2 = path.join(path.dirname(program), 'scim2')
  const flags = ['--url', `${service.issuer}/scim/v2`, '--header', `Authorization: Bearer ${key}`, 'test']
  const run = promisify(execFile)(scim2, flags).catch((failed: { stdout: string; stderr: string }) => failed)
  const { stdout, stderr } = await run
  await service.close()
  const results = [...stdout.matchAll(/^([A-Z]+) (\w+)/gm)].map(([, status = '', check = '']) => ({ status, check }))
  expect(results.filter(({ status }) => status === 'SUCCESS').length, stdout + stderr).toBeGreaterThan(40)
  const failed = results.filter(({ status, check }) => /ERROR|CRITICAL/.test(status) && check !== NOT_OFFERED)
  expect(failed, stdout).toEqual([])
})
