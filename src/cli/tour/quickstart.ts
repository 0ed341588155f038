// `service quickstart`: a resource, a client and a token, with the commands that do the same by hand.
import { setTimeout as sleep } from 'node:timers/promises'
import { actionNamed } from '../../admin/index.ts'
import type { Config } from '../../config/schema.ts'
import { baseUrlOf } from '../origin.ts'
import { type AdminClient, makeOnce } from '../send.ts'
import { checkRunning, partsOfJwt, requestToken, shellQuoted } from './server.ts'

const RESOURCE = { slug: 'quickstart', uri: 'https://quickstart.example.com/mcp', backend_kind: 'mint' } as const
const SCOPE = 'quickstart:read'
const CLIENT_ID = 'quickstart'
const SEEN_MS = 1500
const TRIES = 4

export interface Quickstart {
  client_id: string
  client_secret: string
  access_token: string
  header: unknown
  claims: unknown
  /** Shell commands that do the same. */
  commands: string[]
}

/** Creates the missing items and requests a token. It can be repeated. Throws when no server runs or one step is refused. */
export async function quickstart(config: Config, sender: AdminClient): Promise<Quickstart> {
  await checkRunning(config)
  const scopes = [{ name: SCOPE, description: 'Read' }]
  await makeOnce(sender, 'resource', { ...RESOURCE, display_name: 'Quickstart', scopes })
  const client_secret = await clientSecret(sender)
  const form = { grant_type: 'client_credentials', resource: RESOURCE.uri, scope: SCOPE }
  const answer = await askPatiently(config, form, client_secret)
  const access_token = String(answer['access_token'])
  return {
    client_id: CLIENT_ID,
    client_secret,
    access_token,
    ...partsOfJwt(access_token),
    commands: commandsFor(config, client_secret, form),
  }
}

/** When the secret was written to the database directly, a running server reads it within a second, unless it is busy. */
async function askPatiently(config: Config, form: Record<string, string>, secret: string) {
  for (let tries = 1; ; tries++)
    try {
      return await requestToken(config, form, { id: CLIENT_ID, secret })
    } catch (error) {
      if (tries === TRIES) throw error
      await sleep(SEEN_MS)
    }
}

/** The secret of the client. The secret of an existing client is unknown, so the client gets a new one. */
async function clientSecret(sender: AdminClient): Promise<string> {
  const made = await makeOnce(sender, 'client', {
    client_id: CLIENT_ID,
    client_name: 'Quickstart',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: SCOPE,
  })
  const one = { params: { client_id: CLIENT_ID }, query: {} }
  const shown = made ?? (await sender.send(actionNamed('client', 'rotateSecret'), one))
  return String((shown as Record<string, unknown>)['client_secret'])
}

function commandsFor(config: Config, secret: string, form: Record<string, string>): string[] {
  const { slug, uri, backend_kind } = RESOURCE
  const fields = Object.entries(form).map(([name, value]) => `-d ${shellQuoted(`${name}=${value}`)}`)
  return [
    `service admin resource create --slug ${slug} --uri ${uri} --backend-kind ${backend_kind} --display-name Quickstart --scopes '${SCOPE}||Read'`,
    `service admin client create --client-id ${CLIENT_ID} --name Quickstart --grant-types client_credentials --auth-method client_secret_basic --scopes ${SCOPE}`,
    `curl -s ${baseUrlOf(config)}/oauth/token -u ${CLIENT_ID}:${secret} ${fields.join(' ')}`,
  ]
}

/** The tour as text for a terminal. */
export function quickstartText({ access_token, header, claims, commands }: Quickstart): string {
  const [resource, client, token] = commands
  return `# 1. A resource: the MCP server that tokens are for.
${resource}

# 2. A machine client. Its secret is shown once, when it is made.
${client}

# 3. A token.
${token}

${access_token}

# What the token says:
${JSON.stringify(header)}
${JSON.stringify(claims, null, 2)}

# Next: \`service try authorize\` signs a person in with the browser; \`service doctor\` checks the set-up.
`
}
