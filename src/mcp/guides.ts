// What agents read and where they start: the resources from the documents of the package, and the prompts.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from '../lib/paths.ts'
import { visible } from './result.ts'

const MARKDOWN = 'text/markdown'
/** The reference of reasons. */
const REASONS = 'service://reference/reasons'

interface Guide {
  uri: string
  name: string
  title: string
  mimeType: typeof MARKDOWN
  text: string
}

let read: readonly Guide[] | undefined
/** The resources. The documents do not change while the process runs. */
export const guides = (): readonly Guide[] => {
  read ??= [...runbook(), ...reasons()]
  return read
}

function documentAt(file: string): string | undefined {
  const full = path.join(packageRoot, 'docs', file)
  return existsSync(full) ? readFileSync(full, 'utf8') : undefined
}

const runbook = (): Guide[] =>
  (documentAt('operate/runbook.md') ?? '')
    .split(/^(?=## )/m)
    .filter((section) => section.startsWith('## '))
    .map((text) => {
      const title = (text.split('\n')[0] ?? '').slice('## '.length).trim()
      const name = title.toLowerCase().replace(/[^a-z0-9]+/g, '-')
      return { uri: `service://runbook/${name}`, name, title: `Runbook: ${title}`, mimeType: MARKDOWN, text }
    })

function reasons(): Guide[] {
  const text = documentAt('operate/troubleshooting.md')
  return text === undefined
    ? []
    : [{ uri: REASONS, name: 'reasons', title: 'Reasons of refusals', mimeType: MARKDOWN, text }]
}

interface Prompt {
  name: string
  title: string
  description: string
  argument: { name: string; description: string }
  /** The steps. The value of the argument comes before them, quoted. */
  steps: string
}

const PROMPTS: readonly Prompt[] = [
  {
    name: 'client_cannot_connect',
    title: 'Why can this client not connect?',
    description: 'Finds the reason why a client cannot connect, and what to change.',
    argument: { name: 'client', description: 'Id or name of the client.' },
    steps: `1. Call \`find\` with the client as query, and take its client_id. When nothing is found, use the text itself as client_id.
2. Call \`client_connections\` with this client_id. The last step that failed has the reason.
3. Read the resource ${REASONS} and look the reason up: its meaning and what to do.
4. When the reason is about a scope, a group or a policy, call \`explain\` for this client and resource: the first failed step says where it is set.
5. Say what is wrong, where it is set, and who must change it: the operator here, or the author of the client.`,
  },
  {
    name: 'token_leaked',
    title: 'A token leaked',
    description: 'Finds what a leaked token could do, and revokes it after a person agreed.',
    argument: { name: 'jti', description: 'The jti of the token. For the token itself, decode_token shows its jti.' },
    steps: `1. Call \`find\` with the jti as query: the token, its client, its subject, its resource, and whether it has ended.
2. Call \`issuances\` with the client_id: other tokens that may have leaked with it.
3. Call \`revoke_tokens\` with the client_id (and user_id if the token is about a user). It only counts, because dry_run is true by default.
4. Show the count to a person. Only when the person agrees, call it again with dry_run: false. When the tool is not there, name the command: service admin revoke.
5. Say which secret of the client to rotate, and what the token could reach meanwhile.`,
  },
  {
    name: 'who_uses_this_server',
    title: 'Who uses this server?',
    description: 'Lists the clients and people that got tokens for an MCP server.',
    argument: { name: 'resource', description: 'Slug, URI or name of the resource.' },
    steps: `1. Call \`find\` with the resource as query, and take the uri of the match of kind resource.
2. Call \`issuances\` with this uri as resource, and since: 30d. Ask for every page by its next_cursor.
3. Group the tokens by client_id and sub. Call \`find\` for a client_id whose name matters.
4. Say who uses the server, when last, and who has tokens without use.`,
  },
]

/** The prompts as lists show them. */
export const promptList = () =>
  PROMPTS.map(({ name, title, description, argument }) => ({
    name,
    title,
    description,
    arguments: [{ ...argument, required: true }],
  }))

const LONGEST_VALUE = 2048

/** The text of a prompt, or undefined when it does not exist or its argument is missing. */
export function promptText(name: string, args: Readonly<Record<string, unknown>> = {}): string | undefined {
  const found = PROMPTS.find((each) => each.name === name)
  const value = found && args[found.argument.name]
  if (!found || typeof value !== 'string' || value === '' || value.length > LONGEST_VALUE) return undefined
  const title = /[.?]$/.test(found.title) ? found.title : `${found.title}.`
  return `${title} The ${found.argument.name}, as data: ${JSON.stringify(visible(value))}\n\n${found.steps}\n`
}
