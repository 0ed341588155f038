// docs/reference/clients.md, from what clients.test.ts has recorded.
import { code, table } from '../../tools/reference/markdown.ts'
import type { Sent } from '../support/recorder.ts'
import { allResults, type Row } from './results.ts'

export interface Story {
  name: string
  version: string
  how: string
  sent: readonly Sent[]
}

const INTRO = `Tests connect these clients to a running service. They test sign-in, refresh, the same refresh token in two processes (*Retry*), a tool that needs another scope (*Step-up*), and the client credentials grant
(*Machine grant*). \`npm run interop\` runs the clients themselves, each in its own language, if that tool chain is installed. If a client cannot be installed from a registry, a test sends the requests that its vendor
published. A cell says \`yes\`, or what happens instead. *Since* is the first day with this result.

With \`oauth.refresh_grace: 30s\` the second process that uses the same refresh token continues. Without it, that process would end the sign-in of both. \`oauth.require_scope: false\` is for clients that send no scope at their first sign-in. Client
documents (CIMD) are served by the test, so \`cimd.require_https\` is false and \`cimd.allow_private_addresses\` is true. The documents of Claude, Claude Code, ChatGPT, Codex and VS Code are public copies of those that their vendors published in the autumn of 2026; no test
fetches them from there.`

const REQUESTS = `Every run of the fast tests compares the requests of these clients with this page. \`test/interop/clients.test.ts\` writes the page, and fails if a client sends anything else. None of
the clients needs special settings in the service. The tables list parameter names without values. The authorization request goes through a browser, so it has no headers of the client.`

export const AUTHORIZE = 'GET /oauth/authorize'
const NOTED = ['accept', 'mcp-protocol-version', 'origin', 'dpop']

/** A table of the differences, and then the requests of each client in order. */
export const renderClients = (stories: readonly Story[]): string =>
  `${[
    '# Clients',
    '<!-- Written by `npx vitest run test/interop/clients.test.ts -u`, the first table from test/interop/results; do not edit. -->',
    INTRO,
    table(
      Object.keys(CELLS),
      allResults().map((row) => Object.values(CELLS).map((cell) => cell(row))),
    ),
    '## What clients send',
    REQUESTS,
    table(['Client', 'Set-up', ...Object.keys(FACTS)], stories.map(rowOf)),
    '## Requests in order',
    ...stories.flatMap(({ name, how, sent }) => [
      `### ${name}: ${how}`,
      table(['Request', 'Parameters', 'Client authentication', 'Headers'], sent.map(stepOf)),
    ]),
  ].join('\n\n')}\n`

/** The row of a client, from its requests. */
const FACTS: Readonly<Record<string, (sent: readonly Sent[]) => string>> = {
  Discovery: (sent) =>
    list(sent.filter(({ what }) => what.includes('.well-known')).map(({ what }) => code(what.slice(4)))),
  Registration: (sent) =>
    sent.some(({ what }) => what === 'POST /oauth/register') ? 'dynamic' : 'its document (`client_id` is a URL)',
  PKCE: (sent) => code(sent.find(PLACES.authorize)?.params.get('code_challenge_method') ?? ''),
  Resource: (sent) => where(sent, 'resource'),
  Scope: (sent) => where(sent, 'scope'),
  'At the token endpoint': (sent) =>
    list(sent.filter(({ what }) => what === 'POST /oauth/token').map(authenticationOf)),
}

/** The columns of the matrix. */
const CELLS: Readonly<Record<string, (row: Row) => string>> = {
  Client: ({ client, version }) => `${client} ${version}`,
  Registration: ({ registration }) => registration,
  'First sign-in': ({ sign_in }) => sign_in,
  Refresh: ({ refresh }) => refresh,
  Retry: ({ retry }) => retry,
  'Step-up': ({ step_up }) => step_up,
  'Machine grant': ({ machine }) => machine,
  'Settings that are not the default': ({ settings }) => settings,
  'What was run': ({ ran }) => ran,
  Since: ({ date }) => date,
}

const PLACES = {
  authorize: ({ what }: Sent) => what === AUTHORIZE,
  code: ({ params }: Sent) => params.get('grant_type') === 'authorization_code',
  refresh: ({ params }: Sent) => params.get('grant_type') === 'refresh_token',
}
const where = (sent: readonly Sent[], name: string) =>
  Object.entries(PLACES)
    .filter(([, is]) => sent.some((each) => is(each) && each.params.has(name)))
    .map(([place]) => place)
    .join(', ')
const list = (items: readonly string[]) => [...new Set(items)].join(', ')

const rowOf = ({ name, version, how, sent }: Story) => [
  `${code(name)} ${version}`,
  how,
  ...Object.values(FACTS).map((tell) => tell(sent)),
]

function authenticationOf({ params, headers }: Sent): string {
  if (headers.authorization) return `\`${String(headers.authorization).split(' ')[0]}\` header`
  return params.has('client_secret')
    ? 'secret in the form'
    : params.has('client_id')
      ? 'none, `client_id` only'
      : 'none'
}

const stepOf = (sent: Sent) => [
  code(sent.what),
  [...sent.params]
    .map(([name, value]) => (name === 'grant_type' && !value.includes(',') ? `\`${name}=${value}\`` : code(name)))
    .join(' '),
  sent.what.startsWith('POST') && !sent.what.endsWith('/register') ? authenticationOf(sent) : '',
  NOTED.filter((name) => sent.what !== AUTHORIZE && sent.headers[name] !== undefined)
    .map((name) => (name === 'dpop' ? code(name) : `\`${name}: ${sent.headers[name]}\``))
    .join(' '),
]
