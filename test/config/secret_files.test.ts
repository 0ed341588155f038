// Secrets that come from files: the variable NAME_FILE of a secret variable NAME.
import { describe, expect, test } from 'vitest'
import { tempFile } from '../support/folder.ts'
import { load, problemsOf } from './loading.ts'

const keys = (content: object, env: Record<string, string>) => problemsOf(content, env).map(({ key }) => key)

describe('secrets in files', () => {
  const fileOf = (text: string) => tempFile('secret', text)
  const SECRET = 'k3yXw9-0123456789abcdef-ABCDEFGH'

  test('NAME_FILE names the file of a secret, whose last newline does not count', () => {
    for (const end of ['', '\n', '\r\n'])
      expect(load({}, { SERVICE_SESSION_SECRET_FILE: fileOf(SECRET + end) }).config.session.secret).toBe(SECRET)
  })

  test.each([',', ', ', '\n', '\r\n'])(
    'a list of secrets may be separated by %j, in a variable and in its file',
    (by) => {
      const secrets = [SECRET, `${SECRET}-2`]
      const text = secrets.join(by)
      const name = 'SERVICE_SESSION_SECRETS'
      for (const env of [{ [name]: text }, { [`${name}_FILE`]: fileOf(`${text}\n`) }])
        expect(load({}, env).config.session.secrets).toEqual(secrets)
      expect(problemsOf({}, { [name]: [SECRET, 'short'].join(by) })).toEqual([
        { key: expect.stringContaining(name), message: 'must be at least 32 bytes' },
      ])
    },
  )

  test('other names of a variable, and members of records, have a file too', () => {
    const providers = [
      {
        slug: 'one',
        issuer: 'https://idp.example.com',
        client_id: 'service',
        redirect_uri: 'http://localhost:9000/oidc/one/callback',
      },
    ]
    const { config } = load(
      { oidc: { providers } },
      { SERVICE_VAULT_TOKEN_FILE: fileOf('t'), SERVICE_OIDC_PROVIDERS_ONE_CLIENT_SECRET_FILE: fileOf('from the file') },
    )
    expect(config.signing.secretstore_transit.token).toBe('t')
    expect(config.oidc.providers[0]?.client_secret).toBe('from the file')
  })

  test('a problem with a variable that a key names has the name of the variable', () => {
    const [problem] = problemsOf({ data_encryption: { driver: 'aes_master' } }, {})
    expect(problem?.message).toContain('(it names SERVICE_DATA_ENCRYPTION_KEY)')
  })

  test('the data encryption key and the credentials of the secret store are read from files', () => {
    const file = { data_encryption: { driver: 'aes_master' } }
    const key = '0123456789abcdef'.repeat(4)
    expect(problemsOf(file, { SERVICE_DATA_ENCRYPTION_KEY_FILE: fileOf(key) })).toEqual([])
    expect(keys(file, { SERVICE_DATA_ENCRYPTION_KEY_FILE: fileOf('short') })).toEqual([
      'data_encryption.aes_master.key_env',
    ])
  })

  test('a secret that is set twice, or whose file cannot be read, is one problem that names the variable', () => {
    const twice = problemsOf({}, { SERVICE_ADMIN_API_KEY: 'one', SERVICE_ADMIN_API_KEY_FILE: fileOf('two') })
    expect(twice).toEqual([
      { key: 'SERVICE_ADMIN_API_KEY_FILE', message: 'is set, and so is SERVICE_ADMIN_API_KEY: remove one of them' },
    ])
    const missing = problemsOf(
      { data_encryption: { driver: 'aes_master' } },
      { SERVICE_DATA_ENCRYPTION_KEY_FILE: '/nowhere/key', SERVICE_SESSION_SECRET_FILE: '/nowhere/secret' },
    )
    expect(missing.map(({ key }) => key)).toEqual(['SERVICE_SESSION_SECRET_FILE', 'SERVICE_DATA_ENCRYPTION_KEY_FILE'])
    expect(missing[0]?.message).toMatch(/^names a file that cannot be read: ENOENT/)
  })

  test('only secrets have a file', () => {
    expect(load({}, { SERVICE_SERVER_ADDRESS_FILE: fileOf(':7003') }).config.server.address).toBe(':9000')
  })
})
