// `service serve` that cannot start.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'

test('a port that is in use is named in the JSON log, without a stack trace, and in the error of the command', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const folder = tempFolder()
  const { code, stdout, stderr } = await runCli(['serve'], {
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_ADMIN_ENABLED: 'false',
    SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'service.db'),
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
  })
  other.close()
  const entries = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const [error, ...others] = entries.filter(({ level }) => level === 'error')
  expect([code, others]).toEqual([1, []])
  expect(error.err).toMatchObject({ code: 'EADDRINUSE', message: expect.stringContaining(`127.0.0.1:${port}`) })
  expect(error.err).not.toHaveProperty('stack')
  expect(stderr).toMatch(new RegExp(`^error: cannot listen on 127.0.0.1:${port}`, 'm'))
})
