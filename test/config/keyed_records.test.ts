// Lists of records whose members are declared as keys: oidc.providers.
import { expect, test } from 'vitest'
import { redacted } from '../../src/config/load.ts'
import { load, problemsOf } from './loading.ts'

const ACME = {
  slug: 'acme',
  issuer: 'https://acme.example.com',
  client_id: 'c',
  redirect_uri: 'http://localhost:9000/oidc/callback/acme',
}
const providers = (...records: object[]) => ({ oidc: { providers: records } })

test('a member that is absent has the default of its key', () => {
  const [record] = load(providers({ ...ACME, client_secret: 's' })).config.oidc.providers
  expect(record).toMatchObject({ enabled: true, scopes: ['openid', 'email', 'profile'], groups_claim: 'groups' })
})

test('a variable of the slug and the member sets one member, and takes precedence over the file', () => {
  const env = {
    SERVICE_OIDC_PROVIDERS_NORTH_WEST_CLIENT_SECRET: 'from the environment',
    SERVICE_OIDC_PROVIDERS_NORTH_WEST_SCOPES: 'openid,groups',
  }
  const written = providers({ ...ACME, slug: 'north-west', client_secret: 'from the file' })
  const [record] = load(written, env).config.oidc.providers
  expect([record?.client_secret, record?.scopes]).toEqual(['from the environment', ['openid', 'groups']])
})

test('a secret member is in no copy, in no JSON and not in the redacted configuration', () => {
  const { config } = load(providers({ ...ACME, client_secret: 'S-acme' }))
  expect(JSON.stringify([config, { ...config.oidc.providers[0] }])).not.toContain('S-acme')
  expect(redacted(config)['oidc']).toMatchObject({ providers: [{ slug: 'acme', client_secret: '***' }] })
})

test.each([
  ['a slug that is used twice', [ACME, ACME], 'oidc.providers[1].slug', 'must be unique: acme is used twice'],
  [
    'the slug of the provider of oidc.*',
    [{ ...ACME, slug: 'default' }],
    'oidc.providers[0].slug',
    'must not be default, which is reserved',
  ],
  ['a missing slug', [{ ...ACME, slug: undefined }], 'oidc.providers[0].slug', 'is required'],
  ['an unknown member', [{ ...ACME, isuer: 'x' }], 'oidc.providers[0]', 'has unknown members: isuer'],
  [
    'a member of another type',
    [{ ...ACME, enabled: 'maybe' }],
    'oidc.providers[0].enabled',
    'must be true, false, 1 or 0',
  ],
])('refuses %s and names it', (_, records, key, message) => {
  const withSecrets = records.map((record) => ({ ...record, client_secret: 's' }))
  expect(problemsOf(providers(...withSecrets))).toEqual([{ key, message }])
})
