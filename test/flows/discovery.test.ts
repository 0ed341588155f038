// The metadata documents: what libraries in other languages require of them.
import { expect, test } from 'vitest'
import { startService } from '../support/service.ts'

const PATHS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']

test.each(['ES256', 'RS256'])('with %s both documents can be read as OpenID discovery', async (algorithm) => {
  const service = await startService({ SERVICE_SIGNING_ALGORITHM: algorithm })
  try {
    for (const path of PATHS) {
      const metadata = (await (await fetch(service.issuer + path)).json()) as Record<string, unknown>
      expect(metadata, path).toMatchObject({
        issuer: service.issuer,
        jwks_uri: `${service.issuer}/.well-known/jwks.json`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: [algorithm],
      })
    }
  } finally {
    await service.close()
  }
})
