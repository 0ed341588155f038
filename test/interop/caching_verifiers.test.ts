// Verifiers that keep the JWKS, as they are released and with their defaults, across rotations: no token may fail at them.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, SEALED, startService, type TestService } from '../support/service.ts'
import { ROOT, startTransit } from '../support/transit_server.ts'

let postgres: PostgresServer | undefined
const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})
afterAll(() => postgres?.close())

const STORES: Record<string, () => Promise<Record<string, string>>> = {
  keyfile: async () => ({}),
  async postgres_key() {
    postgres ??= await startPostgres()
    return {
      ...SEALED,
      SERVICE_SIGNING_KEY_STORE: 'postgres_key',
      SERVICE_STORAGE_DRIVER: 'postgres',
      SERVICE_STORAGE_POSTGRES_DSN: await postgres.database(),
    }
  },
  async secretstore_transit() {
    const engine = await startTransit()
    open.push(engine)
    return {
      SERVICE_SIGNING_KEY_STORE: 'secretstore_transit',
      SERVICE_VAULT_ADDR: engine.address,
      SERVICE_VAULT_TOKEN: ROOT,
    }
  },
}

/** A verifier that lives as long as the test. Resolves to `ok`, or to why the token was refused. */
type Verifier = (token: string) => Promise<string>

const jwksOf = ({ issuer }: TestService) => `${issuer}/.well-known/jwks.json`

async function joseVerifier(service: TestService): Promise<Verifier> {
  const keys = createRemoteJWKSet(new URL(jwksOf(service)))
  return (token) =>
    jwtVerify(token, keys, { issuer: service.issuer }).then(
      () => 'ok',
      (error: Error) => error.message,
    )
}

const PYJWT = `
import sys, jwt
client = jwt.PyJWKClient(sys.argv[1])
for line in sys.stdin:
    try:
        key = client.get_signing_key_from_jwt(line.strip())
        jwt.decode(line.strip(), key, algorithms=['ES256'], issuer=sys.argv[2], options={'verify_aud': False})
        print('ok', flush=True)
    except Exception as error:
        print(repr(error).replace('\\n', ' '), flush=True)
`
const isSlow = process.env['SERVICE_TEST_SLOW'] === '1'
const canPython = isSlow && spawnSync('python3', ['-m', 'venv', '--help']).status === 0
let python: string | undefined

/** Python of an environment with PyJWT, which is made once. */
function pythonWithPyJwt(): string {
  if (python) return python
  const folder = path.join(tempFolder(), 'venv')
  execFileSync('python3', ['-m', 'venv', folder])
  python = path.join(folder, 'bin/python')
  execFileSync(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', 'pyjwt[crypto]==2.15.1'])
  return python
}

async function pyJwtVerifier(service: TestService): Promise<Verifier> {
  const child: ChildProcess = spawn(pythonWithPyJwt(), ['-c', PYJWT, jwksOf(service), service.issuer], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  open.push({ close: () => child.kill() })
  if (!child.stdin || !child.stdout) throw new Error('no pipes')
  const { stdin, stdout } = child
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  return async (token) => {
    stdin.write(`${token}\n`)
    return String((await lines.next()).value)
  }
}

const issue = async (service: TestService, client: Parameters<typeof machineToken>[1]) =>
  String((await machineToken(service, client)).body['access_token'])
const kidOf = (token: string) => decodeProtectedHeader(token).kid

async function acrossARotation(store: string, verifier: (service: TestService) => Promise<Verifier>): Promise<void> {
  const service = await startService(await STORES[store]?.())
  open.push(service)
  const client = await addClient(service)
  const verify = await verifier(service)
  const before = await issue(service, client)
  expect(await verify(before)).toBe('ok')
  const { current_kid } = await okAdmin<{ current_kid: string }>(service, 'POST', '/admin/keys/rotate')
  const after = await issue(service, client)
  expect(kidOf(after)).toBe(current_kid)
  expect(kidOf(after)).not.toBe(kidOf(before))
  expect([await verify(after), await verify(before)]).toEqual(['ok', 'ok'])
}

describe('a verifier that has just fetched the JWKS takes the first token after a rotation', () => {
  test.each(Object.keys(STORES))('jose createRemoteJWKSet, signing.key_store %s', (store) =>
    acrossARotation(store, joseVerifier),
  )
  test.skipIf(!canPython).each(Object.keys(STORES))(
    `PyJWT PyJWKClient, signing.key_store %s${canPython ? '' : ' (not tested: needs SERVICE_TEST_SLOW=1, python3 with venv, and PyPI)'}`,
    { timeout: 120_000 },
    (store) => acrossARotation(store, pyJwtVerifier),
  )
})
