// The metadata documents: requirements of libraries in other languages, and an issuer with a trailing slash.
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { authorize, isActive, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, startService } from '../support/service.ts'

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

test('with server.issuer_trailing_slash the issuer ends in a slash everywhere, and no URL has two slashes', async () => {
  const service = await startService({ SERVICE_SERVER_ISSUER_TRAILING_SLASH: 'true' })
  const issuer = `${service.issuer}/`
  const read = async (path: string) => (await (await fetch(service.issuer + path)).json()) as Record<string, unknown>
  try {
    for (const path of PATHS) {
      const metadata = await read(path)
      expect(metadata['issuer'], path).toBe(issuer)
      for (const [name, value] of Object.entries(metadata))
        if (/_(endpoint|uri)$/.test(name)) expect(new URL(String(value)).pathname, name).not.toContain('//')
    }
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const { authorization_servers } = await read(`/.well-known/oauth-protected-resource/${resource.slug}`)
    expect(authorization_servers).toEqual([issuer])
    const authorized = await authorize(service, client, user, { resource: resource.uri })
    expect(authorized.callback.searchParams.getAll('iss')).toEqual([issuer])
    const { access_token } = (await redeem(service, client, authorized)).body
    expect(decodeJwt(String(access_token)).iss).toBe(issuer)
    expect(await isActive(service, client, access_token)).toBe(true)
  } finally {
    await service.close()
  }
})
