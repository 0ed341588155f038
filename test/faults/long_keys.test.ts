// The longest indexed texts, on both databases: texts that PostgreSQL cannot index are refused before anything is consumed, and
// accepted texts can be stored. The texts are random, because PostgreSQL compresses repetitions.
import { randomInt } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { startPostgres } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { LOOPBACK, xaaScene } from '../support/xaa.ts'

const server = await startPostgres()
afterAll(() => server.close())

const letters = (count: number) => Array.from({ length: count }, () => randomInt(36).toString(36)).join('')
/** Characters of three bytes each in UTF-8. */
const wide = (count: number) =>
  Array.from({ length: count }, () => String.fromCharCode(0x4e00 + randomInt(20_000))).join('')
const filled = (start: string, bytes: number) => start + letters(bytes - start.length)

const STORES = {
  sqlite: async () => ({}),
  postgres: async () => ({
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_DSN: await server.migrated(),
    SERVICE_SIGNING_KEY_PATH: tempFolder(),
  }),
}

describe.each(Object.entries(STORES))('on %s', (_name, env) => {
  test('a subject that is too long does not consume the assertion, and the longest allowed one is issued for', async () => {
    const service = await startService({ ...LOOPBACK, ...(await env()) })
    try {
      const scene = await xaaScene(service)
      const jti = newId()
      const withSub = async (sub: string) => scene.redeem(await scene.assertion({ claims: { jti, sub } }))
      for (const sub of [wide(1000), wide(342), letters(1025)]) {
        const { status, body } = await withSub(sub)
        expect([status, body['error']]).toEqual([400, 'invalid_grant'])
      }
      expect((await withSub(wide(341))).status).toBe(200)
    } finally {
      await service.close()
    }
  })

  test('URIs and issuers that are too long are refused by the admin API, and the longest allowed ones are stored', async () => {
    const service = await startService(await env())
    try {
      const resource = (uri: string) =>
        callAdmin(service, 'POST', '/admin/resources', {
          slug: `r-${letters(8)}`,
          uri,
          backend_kind: 'mint',
          scopes: [{ name: 'a' }],
        })
      const idp = (issuer: string) =>
        callAdmin(service, 'POST', '/admin/idps', { issuer, jwks_uri: 'https://idp.example.com/jwks.json' })
      for (const add of [resource, idp]) {
        const { status, body } = await add(`https://x.example.com/${wide(2000)}`)
        expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('2048 bytes')])
      }
      const uri = filled('https://x.example.com/', 2048)
      expect([(await resource(uri)).status, (await idp(uri)).status]).toEqual([201, 201])
      const made = await okAdmin<{ client_id: string; client_secret: string }>(service, 'POST', '/admin/clients', {
        client_id: letters(2048),
        client_name: 'Long',
        grant_types: ['client_credentials'],
        token_endpoint_auth_method: 'client_secret_basic',
        scope: 'a',
      })
      const { client_id, client_secret } = made
      const answer = await machineToken(service, { client_id, client_secret }, { resource: uri })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    } finally {
      await service.close()
    }
  })
})
