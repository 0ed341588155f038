// PyJWT's PyJWKClient, as it is released and with its defaults, across rotations: no token may fail at it.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'vitest'
import { tempFolder } from '../support/folder.ts'
import type { TestService } from '../support/service.ts'
import { acrossARotation, jwksOf, open, STORES, type Verifier } from './caching_verifier.ts'

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
const hasPython = spawnSync('python3', ['-m', 'venv', '--help']).status === 0
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

test.skipIf(!hasPython).each(Object.keys(STORES))(
  `PyJWT that has just fetched the JWKS takes the first token after a rotation, signing.key_store %s${hasPython ? '' : ' (not tested: needs python3 with venv)'}`,
  { timeout: 120_000 },
  (store) => acrossARotation(store, pyJwtVerifier),
)
