// Records of broker providers: the settings of each protocol, and forbidden settings.
import { describe, expect, test } from 'vitest'
import { endpointsOf, providerRecord } from '../../src/config/provider_record.ts'
import { issuesOf } from '../../src/lib/field.ts'

const CONFIG = {
  oauth: {
    client_id: 'x',
    client_secret_ref: 'CONNECTOR_X',
    authorize_url: 'https://up.example.com/authorize',
    token_url: 'https://up.example.com/token',
  },
  apikey: { header_name: 'X-Api-Key' },
  service_account: {
    token_url: 'https://up.example.com/token',
    sa_email: 'sa@example.com',
    sa_key_ref: 'CONNECTOR_KEY',
  },
} as const
type Protocol = keyof typeof CONFIG
const written = (protocol: Protocol, more: Record<string, unknown> = {}) => ({
  slug: 'Acme',
  display_name: 'Acme',
  protocol,
  config_data: { ...CONFIG[protocol], ...more },
})
const issues = (input: unknown) => {
  const result = providerRecord.safeParse(input)
  return result.success ? [] : issuesOf(result.error)
}
const paths = (input: unknown) => issues(input).map(({ path }) => path)

test.each(Object.keys(CONFIG) as Protocol[])(
  'a provider of %s is kept as written, with its slug in lower case',
  (each) => {
    expect(providerRecord.parse(written(each))).toEqual({ ...written(each), slug: 'acme' })
  },
)

test.each(['slug', 'display_name', 'protocol', 'config_data'])('refuses a provider without %s', (member) => {
  expect(paths({ ...written('oauth'), [member]: undefined })).toEqual([member])
})

test('an unknown protocol is refused', () => {
  expect(paths({ ...written('oauth'), protocol: 'carrier-pigeon' })).toEqual(['protocol'])
})

describe('config_data', () => {
  const needed = (Object.keys(CONFIG) as Protocol[]).flatMap((protocol) =>
    Object.keys(CONFIG[protocol]).map((member) => [protocol, member] as const),
  )
  test.each(needed)('config_data of %s requires %s', (protocol, member) => {
    expect(paths(written(protocol, { [member]: undefined }))).toEqual([`config_data.${member}`])
  })

  test.each([
    ['oauth', 'response_format', 'xml'],
    ['oauth', 'authorize_url', 'ftp://up.example.com'],
    ['oauth', 'token_url', 'https://user:pass@up.example.com/token'],
    ['oauth', 'revoke_url', 'https://up.example.com/#x'],
    ['oauth', 'extra_auth_params', { state: 'mine' }],
    ['oauth', 'extra_auth_params', { prompt: 7 }],
    ['apikey', 'header_name', 'X Key'],
    ['service_account', 'token_ttl_seconds', 29],
    ['service_account', 'token_ttl_seconds', 3601],
    ['service_account', 'algorithm', 'none'],
    ['service_account', 'impersonate', 'anybody'],
  ] as [Protocol, string, unknown][])('of %s refuses %s %j', (protocol, member, value) => {
    expect(paths(written(protocol, { [member]: value }))[0]).toMatch(new RegExp(`^config_data.${member}`))
  })

  test('settings that no protocol has are refused', () => {
    expect(paths(written('oauth', { colour: 'red' }))).toEqual(['config_data'])
  })

  test.each(['client_secret', 'sa_key', 'password_secret', 'admin_password', 'access_token'])(
    'refuses a secret in %s, and says where it belongs',
    (member) => {
      const [issue, ...more] = issues(written('oauth', { [member]: 'hush' }))
      expect([issue?.path, more]).toEqual([`config_data.${member}`, []])
      expect(issue?.message).toContain(`${member}_ref`)
      expect(issue?.message).not.toContain('hush')
    },
  )

  test.each([
    'SERVICE_ADMIN_API_KEY',
    'PATH',
    'CONNECTOR_',
    'connector_x',
    'CONNECTOR_X=1',
    'MY_CONNECTOR_X',
    'CONNECTOR_X\n',
  ])('refuses %j as the name of a secret', (name) => {
    expect(paths(written('oauth', { client_secret_ref: name }))).toEqual(['config_data.client_secret_ref'])
  })

  test('secret references with either prefix are accepted', () => {
    for (const name of ['CONNECTOR_GITHUB_2', 'SERVICE_SECRET_X'])
      expect(paths(written('oauth', { client_secret_ref: name }))).toEqual([])
  })
})

test('the endpoints of a provider are the called URLs and the URLs of redirects', () => {
  const { oauth } = CONFIG
  expect(endpointsOf(written('oauth', { revoke_url: 'https://up.example.com/revoke' }))).toEqual([
    oauth.authorize_url,
    oauth.token_url,
    'https://up.example.com/revoke',
  ])
  expect(endpointsOf(written('apikey'))).toEqual([])
})
