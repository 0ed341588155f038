// docs/security/attacks.md: every row of the attack list, with the tests that are named after it.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from '../../src/lib/paths.ts'
import { page, table } from '../reference/markdown.ts'
import { testTitles } from './titles.ts'

interface Row {
  id: string
  send: string
  must: string
}

const SECTIONS: Readonly<Record<string, string>> = {
  A: 'Authorization endpoint and redirects',
  B: 'PKCE and authorization codes',
  C: 'Token endpoint and client authentication',
  D: 'Refresh tokens',
  E: 'DPoP',
  F: 'Trust in JWTs',
  G: 'Token exchange',
  H: 'Identity assertions (XAA, ID-JAG)',
  I: 'Client documents and outgoing requests',
  J: 'Dynamic registration',
  K: 'Introspection and revocation',
  L: 'Login, session, consent',
  M: 'Upstream login and brokered providers',
  N: 'Admin listener and command line',
  O: 'HTTP and denial of service',
  P: 'Storage, races, clusters, life of the process',
  Q: 'Leakage',
  R: 'Keeping clients from harm',
  S: 'Client assertions and keys of clients',
  T: 'Access rules and sign-in providers',
  U: 'OpenID, devices, account',
  V: 'Events: webhooks and streams',
  W: 'The package for resource servers',
  X: 'Passkeys',
  Y: 'SCIM: people and groups of upstream providers',
  Z: 'Single actions: approvals, details, pushed requests',
}

const INTRO = `This page lists what an attacker may send, what must happen, and the tests that send it. The name of a test contains the id of its row, so
\`npx vitest run -t D02\` runs the tests of one row. The rows use these abbreviations:

- \`A{…}\` is an authorization request with the parameters in the braces. \`T{…}\` is a token request.
- \`R\` is a registered redirect URI, \`U\` a resource, and \`RT\` a refresh token.
- \`page\` is an error page of the service itself, without a redirect. \`redir(e)\` is a redirect to the client with the error \`e\`. \`4xx(e)\` is an error response as JSON.
- \`redir\` and \`4xx\` have \`iss\`, \`state\` and headers as the RFCs require.

The tests of sections K, O, Q and R run on both HTTP engines.`

const rows = (): Row[] =>
  JSON.parse(readFileSync(path.join(packageRoot, 'tools/security/attack_rows.json'), 'utf8')) as Row[]

/** The page. Throws when a row has no test. */
export function renderAttacks(): string {
  const all = rows()
  const tests = filesById(new Set(all.map(({ id }) => id)))
  const open = all.filter(({ id }) => !tests.has(id))
  if (open.length > 0) throw new Error(`no test is named after ${open.map(({ id }) => id).join(', ')}`)
  const held = ({ id }: Row) => [...(tests.get(id) ?? [])].map((file) => `[${file.slice(5)}](../../${file})`).join(', ')
  const sections = Object.entries(SECTIONS).flatMap(([letter, title]) => [
    `## ${letter}. ${title}`,
    table(
      ['Row', 'What is sent', 'What must happen', 'Test'],
      all.filter(({ id }) => id.startsWith(letter)).map((row) => [row.id, row.send, row.must, held(row)]),
    ),
  ])
  const count = `${all.length} rows, each with a test.`
  return page(
    'Attacks, and the tests that send them',
    'tools/security and the titles of the tests',
    INTRO,
    count,
    ...sections,
  )
}

/** Files with a test whose title names the row. */
function filesById(known: ReadonlySet<string>): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const { file, title } of testTitles())
    for (const [id] of title.matchAll(/\b[A-Z]\d\d\b/g))
      if (known.has(id)) found.set(id, (found.get(id) ?? new Set()).add(file))
  return found
}
