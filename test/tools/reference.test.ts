// The pages of docs/reference that people write a part of: what that part says is held against the code.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { grants } from '../../src/grants/index.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { COMMON_DETAIL, DETAIL } from '../../src/oauth/audit_details.ts'
import { AUDIT_EVENTS } from '../../src/oauth/audit_events.ts'
import { ENDPOINTS } from '../../tools/reference/endpoints.ts'
import { GRANTS } from '../../tools/reference/grants.ts'

/** The parameters that a file reads of a form or query: `form.code`, and `const { client_id } = params`. */
function parametersIn(...files: string[]): string[] {
  const text = files.map((file) => readFileSync(path.join(packageRoot, 'src', file), 'utf8')).join('\n')
  const read = [...text.matchAll(/\b(?:form|params)\??\.([a-z_]+)\b(?!\()/g)].map(([, name = '']) => name)
  const taken = [...text.matchAll(/\{ ([\w, :]+) \}(?: = (?:form|params|parseParams)|: Params\b)/g)]
  return [...read, ...taken.flatMap(([, names = '']) => names.split(', ').map((name) => name.split(':')[0] ?? ''))]
}
const unknownOf = (names: readonly string[], said: object) => [...new Set(names.filter((name) => !(name in said)))]

test.each(grants.map(({ name, type }) => [name, type]))(
  'every parameter that %s reads is in the reference',
  (name, type) => {
    const read = parametersIn(`grants/${name}.ts`)
    expect(read).not.toEqual([])
    expect(unknownOf(read, GRANTS[type]?.takes ?? {})).toEqual([])
  },
)

const REFUSED = { request: '', client_secret: '' }
test.each([
  [
    'GET /oauth/authorize',
    ['endpoints/authorize.ts', 'oauth/sign_in/authorization.ts', 'oauth/sign_in/authentication_request.ts'],
    REFUSED,
  ],
  ['POST /oauth/introspect', ['endpoints/introspect.ts', 'oauth/clients/client_auth.ts'], {}],
  ['POST /oauth/revoke', ['endpoints/revoke.ts', 'oauth/clients/client_auth.ts'], {}],
  ['POST /consent', ['endpoints/consent.ts'], { account: '' }],
  [
    'POST /account/{section}',
    ['page', 'applications', 'sign_ins', 'connections', 'language'].map((name) => `endpoints/account/${name}.ts`),
    { error: '', done: '' },
  ],
  ['POST /second-factor', ['endpoints/sign_in/second_factor.ts'], {}],
  ['GET /oidc/callback', ['endpoints/oidc.ts'], { redirect: '', prompt: '', login_hint: '', acr_values: '' }],
  ['GET /oauth/logout', ['endpoints/end_session.ts'], {}],
])('every parameter that %s reads is in the reference', (endpoint, files, more) => {
  const read = parametersIn(...files)
  expect(read).not.toEqual([])
  expect(unknownOf(read, { ...ENDPOINTS[endpoint]?.takes, ...more })).toEqual([])
})

test('every documented member of an event detail occurs in an event', () => {
  const used = new Set<string>([...COMMON_DETAIL, ...Object.values(AUDIT_EVENTS).flatMap(({ detail }) => detail)])
  expect(Object.keys(DETAIL).filter((member) => !used.has(member))).toEqual([])
})
