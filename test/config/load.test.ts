// Defaults, file and environment, and the messages about errors in them.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigError, loadConfig, nearest, redacted } from '../../src/config/load.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { EVERYONE } from '../../src/records/resource.ts'
import { tempFolder } from '../support/folder.ts'
import { load, over, PRODUCTION, problemsOf, yamlFile } from './loading.ts'

const keys = (content?: string | object, env?: Record<string, string>) =>
  problemsOf(content, env).map((problem) => problem.key)

describe('precedence', () => {
  const file = { server: { address: ':7001' }, dcr: { mode: 'admin_only' } }

  test('the environment takes precedence over the file, and the file over the default', () => {
    expect(load().config.server.address).toBe(':9000')
    expect(load(file).config.server.address).toBe(':7001')
    expect(load(file, { SERVICE_SERVER_ADDRESS: ':7002' }).config.server.address).toBe(':7002')
  })

  test('a variable replaces only its own key', () => {
    const { config } = load(file, { SERVICE_SERVER_ADDRESS: ':7002' })
    expect(config.dcr.mode).toBe('admin_only')
    expect(config.server.issuer).toBe('http://localhost:9000')
  })

  test('an empty variable counts as unset', () => {
    expect(load(file, { SERVICE_SERVER_ADDRESS: '' }).config.server.address).toBe(':7001')
  })

  test('a key without a value in the file counts as unset', () => {
    expect(load('server:\n  address:\ndcr:\n').config.server.address).toBe(':9000')
  })

  test('an empty file has no effect', () => {
    expect(load('').config).toEqual(load().config)
    expect(load('# nothing yet\n').config).toEqual(load().config)
  })

  test('the regular name of a variable takes precedence over the short one', () => {
    const env = { SERVICE_OBSERVABILITY_LOGGING_LEVEL: 'warn', SERVICE_LOG_LEVEL: 'debug' }
    expect(load(undefined, env).config.observability.logging.level).toBe('warn')
  })
})

test.each(['resources', 'broker_providers'])('the %s of config.example.yaml are some', (name) => {
  const text = readFileSync(path.join(packageRoot, 'config.example.yaml'), 'utf8')
  const [lines = ''] = new RegExp(`^#${name}:\\n(#.*\\n)+`, 'm').exec(text) ?? []
  const { config } = load(lines.replace(/^#/gm, ''))
  expect(config[name as 'resources' | 'broker_providers']).toHaveLength(1)
})

test('a YAML error is reported once with its position', () => {
  expect(problemsOf('a: [\n')).toMatchObject([
    { key: expect.stringMatching(/:2:1$/), message: expect.stringMatching(/\]$/) },
  ])
})

describe('variables are parsed by the type of their key', () => {
  test('variables are read as what their key is', () => {
    const { config } = load(undefined, {
      SERVICE_SERVER_ALLOWED_ORIGINS: 'https://a.example, https://b.example,',
      SERVICE_SERVER_READ_TIMEOUT: '1m30s',
      SERVICE_RATE_LIMIT_ENABLED: '0',
      SERVICE_DPOP_REQUIRE_NONCE: 'true',
      SERVICE_RATE_LIMIT_RPS: '7',
      SERVICE_DCR_RATE_LIMIT: '0.5',
    })
    expect(config.server.allowed_origins).toEqual(['https://a.example', 'https://b.example'])
    expect(config.server.read_timeout).toBe(90)
    expect(config.rate_limit.enabled).toBe(false)
    expect(config.dpop.require_nonce).toBe(true)
    expect(config.rate_limit.requests_per_second).toBe(7)
    expect(config.dcr.rate_limit).toBe(0.5)
  })

  test('a list may be written as a list or as text in the file', () => {
    expect(load('oidc:\n  scopes: [openid, email]').config.oidc.scopes).toEqual(['openid', 'email'])
    expect(load('oidc:\n  scopes: openid,email').config.oidc.scopes).toEqual(['openid', 'email'])
  })

  test('an error names the key and the variable with the value', () => {
    expect(problemsOf(undefined, { SERVICE_LOG_LEVEL: 'loud' })).toEqual([
      { key: 'observability.logging.level (SERVICE_LOG_LEVEL)', message: 'must be one of debug, info, warn, error' },
    ])
  })

  test('a value of the wrong type is refused with the expected type', () => {
    expect(problemsOf({ dpop: { enabled: 'maybe' }, rate_limit: { burst: 'many' } })).toEqual([
      { key: 'rate_limit.burst', message: 'must be a whole number' },
      { key: 'dpop.enabled', message: 'must be true, false, 1 or 0' },
    ])
  })

  test('an error inside a record names its path', () => {
    expect(keys({ resources: [{ slug: 'a', uri: 'nowhere', backend_kind: 'mint' }] })).toEqual(['resources[0].uri'])
    expect(
      keys({ resources: [{ slug: 'a', uri: 'https://a.example', backend_kind: 'mint', scopes: [{ name: 'a b' }] }] }),
    ).toEqual(['resources[0].scopes[0].name'])
  })

  test.each([
    ['a value of the file', { session: { secret: '$' + '{SECRET}' } }, 'session.secret'],
    ['an item of a list', { dcr: { approved_redirects: ['https://$' + '{HOST}/cb'] } }, 'dcr.approved_redirects'],
    [
      'a member of a record',
      { resources: [{ slug: 'a', uri: 'https://$' + '{HOST}', backend_kind: 'mint' }] },
      'resources',
    ],
  ])('a variable that was not expanded is refused in %s', (_where, content, key) => {
    expect(problemsOf(content)).toEqual([{ key, message: 'contains a variable that was not expanded' }])
  })
})

describe('errors', () => {
  test('all faults are reported together, each with its key', () => {
    const env = { SERVICE_DCR_MODE: 'x' }
    expect(keys({ server: { adress: 1, read_timeout: 'x' }, session: { same_site: 'x' }, colour: 1 }, env)).toEqual([
      'server.adress',
      'colour',
      'server.read_timeout',
      'dcr.mode (SERVICE_DCR_MODE)',
      'session.same_site',
    ])
  })

  test('all broken rules are reported together', () => {
    expect(keys({ server: { issuer: 'https://auth.example.com' } })).toEqual([
      'session.secret',
      'session.secure',
      'admin.api_key',
    ])
  })

  test('the message of the error names every key', () => {
    try {
      load({ server: { issuer: 'https://auth.example.com' } })
      expect.fail('it loaded')
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError)
      for (const key of ['session.secret', 'session.secure', 'admin.api_key'])
        expect((error as Error).message).toContain(key)
    }
  })

  test('no error message contains a secret', () => {
    const secret = 'short-secret'
    expect(JSON.stringify(problemsOf({ session: { secret }, connect: { state_secret: secret } }))).not.toContain(secret)
  })

  test.each([
    ['server', 'servr', { servr: {} }, 'servr'],
    ['server.address', 'server.adress', { server: { adress: ':1' } }, 'server.adress'],
    [
      'signing.secretstore_transit.approle.role_id',
      'roleid',
      { signing: { secretstore_transit: { approle: { roleid: 1 } } } },
      'signing.secretstore_transit.approle.roleid',
    ],
  ])('an unknown key is refused, and %s suggested for %s', (suggestion, _key, content, key) => {
    expect(problemsOf(content)).toEqual([{ key, message: `is not a key; did you mean ${suggestion}?` }])
  })

  test('an unknown key that resembles no key gets no suggestion', () => {
    expect(problemsOf({ constructor: 1, __proto__x: 2 }).map(({ message }) => message)).toEqual([
      'is not a key',
      'is not a key',
    ])
  })

  test('a value where a mapping belongs is refused', () => {
    expect(problemsOf({ server: 5, dcr: [1] })).toEqual([
      { key: 'server', message: 'must be a mapping of keys to values' },
      { key: 'dcr', message: 'must be a mapping of keys to values' },
    ])
  })
})

describe('the file', () => {
  test.each([
    ['a bad indentation', 'server:\n  address: :1\n issuer: x\n', ':3:'],
    ['a key that comes twice', 'dpop:\n  enabled: true\n  enabled: false\n', ':3:3'],
    ['an unclosed bracket', 'oidc:\n  scopes: [a, b\n', ':'],
  ])('%s is reported with line and column', (_what, text, place) => {
    const file = yamlFile(text)
    try {
      loadConfig(file, {})
      expect.fail('it loaded')
    } catch (error) {
      expect((error as ConfigError).problems[0]?.key).toMatch(/service\.yaml:\d+:\d+$/)
      expect((error as ConfigError).problems[0]?.key).toContain(place)
    }
  })

  test.each([
    ['a list', '- a\n- b\n'],
    ['a plain text', 'hello'],
    ['an alias of nothing', 'server: *missing\n'],
    ['an alias of what it is inside of', 'resources: &a [*a]\n'],
    [
      'a bomb of aliases',
      `a: &a [1,1]\nb: &b [${'*a,'.repeat(20)}]\nc: &c [${'*b,'.repeat(20)}]\nd: [${'*c,'.repeat(20)}]\n`,
    ],
    ['two documents', 'a: 1\n---\nb: 2\n'],
  ])('%s is refused with the name of the file', (_what, text) => {
    expect(problemsOf(text)[0]?.key).toContain('service.yaml')
  })

  test('a file that cannot be read is refused with its name', () => {
    const file = path.join(tempFolder(), 'missing.yaml')
    expect(() => loadConfig(file, {})).toThrow(new RegExp(`${file} cannot be read`))
  })
})

describe('SERVICE_RESOURCE_URI', () => {
  const uri = 'https://MCP.example.com/files'

  const EVERYBODY = { access: EVERYONE, token_claims: [], authorization_details_types: [] }

  test('SERVICE_RESOURCE_URI defines a mint resource whose slug is derived from the host', () => {
    const { config, warnings } = load(undefined, {
      SERVICE_RESOURCE_URI: uri,
      SERVICE_RESOURCE_SCOPES: 'files:read, files:write',
    })
    expect(config.resources).toEqual([
      {
        slug: 'mcp-example-com',
        uri,
        backend_kind: 'mint',
        ...EVERYBODY,
        display_name: 'mcp.example.com',
        scopes: [
          { name: 'files:read', description: '', upstream: '' },
          { name: 'files:write', description: '', upstream: '' },
        ],
      },
    ])
    expect(warnings).toEqual([])
  })

  test('SERVICE_RESOURCE_URI adds a resource to those of the file', () => {
    const other = { slug: 'other', uri: 'https://other.example.com', backend_kind: 'mint' }
    const { config } = load({ resources: [other] }, { SERVICE_RESOURCE_URI: uri })
    expect(config.resources.map((each) => each.slug)).toEqual(['other', 'mcp-example-com'])
  })

  test('SERVICE_RESOURCE_SCOPES replaces only the scopes of a resource that the file has too', () => {
    const mine = {
      slug: 'mine',
      uri,
      backend_kind: 'mint',
      ...EVERYBODY,
      display_name: 'Mine',
      policy: { runtime: { client_ids: ['c'] } },
    }
    const file = { resources: [{ ...mine, scopes: [{ name: 'old' }] }] }
    const both = load(file, { SERVICE_RESOURCE_URI: uri, SERVICE_RESOURCE_SCOPES: 'new' }).config.resources
    expect(both).toEqual([{ ...mine, scopes: [{ name: 'new', description: '', upstream: '' }] }])
    const uriOnly = load(file, { SERVICE_RESOURCE_URI: uri }).config.resources
    expect(uriOnly[0]?.scopes.map((scope) => scope.name)).toEqual(['old'])
  })

  test.each([
    ['SERVICE_RESOURCE_URI', { SERVICE_RESOURCE_URI: 'nowhere' }],
    ['SERVICE_RESOURCE_URI', { SERVICE_RESOURCE_URI: 'https://$' + '{HOST}/mcp' }],
    ['SERVICE_RESOURCE_SCOPES', { SERVICE_RESOURCE_URI: uri, SERVICE_RESOURCE_SCOPES: 'a b' }],
    ['SERVICE_RESOURCE_SCOPES', { SERVICE_RESOURCE_URI: uri, SERVICE_RESOURCE_SCOPES: 'a,a' }],
  ])('a fault is reported under %s: %j', (key, env) => {
    expect(keys(undefined, env)).toEqual([key])
  })
})

describe('warnings', () => {
  test('a misspelt variable gets a warning, and an unrelated variable does not', () => {
    const { warnings } = load(undefined, { SERVICE_SERVER_ADRESS: ':1', SERVICE_HOST: 'kubernetes', PATH: '/bin' })
    expect(warnings).toEqual(['SERVICE_SERVER_ADRESS is not a known variable; did you mean SERVICE_SERVER_ADDRESS?'])
  })

  test('nearest finds the word that is fewest edits away, within a limit', () => {
    expect(nearest('adress', ['address', 'dress'])).toBe('address')
    expect(nearest('abc', ['abcdefg', 'xyz'])).toBeUndefined()
    expect(nearest('abcdefghij', ['abcdefgxyz'])).toBe('abcdefgxyz')
    expect(nearest('abcdefghij', ['abcdefwxyz'])).toBeUndefined()
  })
})

describe('the redacted snapshot', () => {
  const secrets = {
    session: { secret: 'S-session-0123456789-0123456789-0123' },
    admin: { api_key: 'S-admin-0123456789' },
    connect: { state_secret: 'S-connect-0123456789-0123456789-0123' },
    oidc: { client_secret: 'S-oidc' },
    storage: { postgres: { dsn: 'postgres://u:S-dsn@localhost/x' } },
    signing: { secretstore_transit: { token: 'S-token', approle: { secret_id: 'S-approle' } } },
  }

  test('the redacted snapshot hides every secret that is set, and shows the other values', () => {
    const { config } = load(over(PRODUCTION, secrets))
    const shown = JSON.stringify(redacted(config))
    expect(shown).not.toContain('S-')
    expect(shown.match(/\*\*\*/g)?.length).toBe(7)
    expect(redacted(config)).toMatchObject({ server: { issuer: 'https://auth.example.com' } })
  })

  test('the redacted snapshot hides a list of secrets', () => {
    const secrets = ['S-new-0123456789-0123456789-0123456', 'S-old-0123456789-0123456789-0123456']
    const { config } = load(over(PRODUCTION, { session: { secret: '', secrets } }))
    expect(config.session.secrets).toEqual(secrets)
    expect(redacted(config)).toMatchObject({ session: { secret: '', secrets: '***' } })
    expect(JSON.stringify([redacted(config), config])).not.toContain('S-')
  })

  test('the redacted snapshot shows that a secret is not set', () => {
    expect(redacted(load().config)).toMatchObject({ session: { secret: '', secrets: [] }, admin: { api_key: '' } })
  })

  test('the redacted snapshot does not change the configuration', () => {
    const { config } = load(over(PRODUCTION, secrets))
    redacted(config)
    expect(config.oidc.client_secret).toBe('S-oidc')
  })
})

test('a wrong value does not hide the problems of other keys', () => {
  const file = { server: { issuer: 'https://auth.example.com', frobnicate: true }, signing: { algorithm: 'HS256' } }
  const found = keys(file, { SERVICE_XAA_TOKEN_EXPIRY: 'soon' }).join(' ')
  for (const key of ['server.frobnicate', 'signing.algorithm', 'xaa.token_expiry', 'session.secret', 'session.secure'])
    expect(found).toContain(key)
})
