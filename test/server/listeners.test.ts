// The headers of every answer.
import { expect, test } from 'vitest'
import { startService } from '../support/service.ts'

test.each([
  ['includes subdomains by default', {}, 'max-age=63072000; includeSubDomains'],
  ['omits them when the configuration does', { SERVICE_SERVER_HSTS_INCLUDE_SUBDOMAINS: 'false' }, 'max-age=63072000'],
  ['is not sent while cookies do not need https', { SERVICE_SESSION_SECURE: 'false' }, null],
])('the Strict-Transport-Security header %s', async (_, variables, expected) => {
  const service = await startService({ SERVICE_SESSION_SECURE: 'true', ...variables })
  try {
    for (const url of [`${service.issuer}/health`, `${service.admin}/livez`])
      expect((await fetch(url)).headers.get('strict-transport-security')).toBe(expected)
  } finally {
    await service.close()
  }
})
