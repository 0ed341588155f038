// PyJWT's PyJWKClient with its defaults, across rotations: it must accept every token.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { test } from 'vitest'
import type { TestService } from '../support/service.ts'
import { acrossARotation, jwksOf, open, STORES, type Verifier } from './caching_verifier.ts'
import { python } from './toolchain.ts'

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
const toolchain = await python('mcp.txt')

async function pyJwtVerifier(service: TestService): Promise<Verifier> {
  const [program = ''] = 'command' in toolchain ? toolchain.command : []
  const child: ChildProcess = spawn(program, ['-c', PYJWT, jwksOf(service), service.issuer], {
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

test.skipIf('missing' in toolchain).each(Object.keys(STORES))(
  'PyJWT with a JWKS that it fetched before a rotation accepts the first token after it, signing.key_store %s',
  { timeout: 120_000 },
  (store) => acrossARotation(store, pyJwtVerifier),
)
