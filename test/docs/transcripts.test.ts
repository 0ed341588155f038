// The transcripts of docs/operate/agents.md: the official client at a running server with the data of a small site follows each prompt.
// `npm run transcripts` writes them, and this test fails when the server would answer differently now.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { okAdmin } from '../support/admin.ts'
import { connectAgent, WITH_MCP } from '../support/agent.ts'
import { Browser } from '../support/browser.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { authorize, authorizeUrl, claimsOf, machineToken, redeem } from '../support/flow.ts'
import { addUser, startService, type TestService } from '../support/service.ts'
import { Transcript } from './transcript.ts'

const PAGE = path.join(packageRoot, 'docs/operate/agents.md')
const HEADING = '## A transcript of each prompt'
const INTRO = `\`npm run transcripts\` writes this section, and a test compares it at each run: it starts a server, signs a person in, sends the requests of some clients, and follows each prompt with the official client and a
key with the capability \`operator\`. Only the members that matter here are shown. Ids that differ at each run have a name in \`<>\`. The sentences in place of the model's are made from the answers.`

const NOTES = 'https://notes.example.com/mcp'
const DESKTOP = { client_id: 'notes-desktop', redirect_uri: 'http://localhost/callback' }

interface Site {
  service: TestService
  ada: { id: string }
  /** The jti of a token of nightly-export. */
  jti: string
}

/** A server with an MCP server, three clients, a person, and what they did until an update broke one of the clients. */
async function openSite(): Promise<Site> {
  const service = await startService(WITH_MCP)
  atEndOfFile(() => service.close())
  const scopes = ['notes:read', 'notes:write'].map((name) => ({ name, description: `May ${name.slice(6)} notes` }))
  const notes = { slug: 'notes', uri: NOTES, backend_kind: 'mint', display_name: 'Notes', scopes }
  await okAdmin(service, 'POST', '/admin/resources', notes)
  const ada = await addUser(service, { email: 'ada@example.com' })
  await okAdmin(service, 'POST', '/admin/clients', {
    ...{ client_id: DESKTOP.client_id, client_name: 'Notes Desktop', redirect_uris: [DESKTOP.redirect_uri] },
    ...{ token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] },
    scope: 'notes:read notes:write',
  })
  const machine = (client_id: string, client_name: string) =>
    okAdmin<{ client_id: string; client_secret: string }>(service, 'POST', '/admin/clients', {
      ...{ client_id, client_name, grant_types: ['client_credentials'], scope: 'notes:read' },
      token_endpoint_auth_method: 'client_secret_basic',
    })
  const asked = { resource: NOTES, scope: 'notes:read' }
  const token = async (client: Awaited<ReturnType<typeof machine>>) =>
    String(claimsOf(await machineToken(service, client, asked)).jti)
  const nightly = await machine('nightly-export', 'Nightly Export')
  await token(nightly)
  const jti = await token(nightly)
  await token(await machine('report-bot', 'Report Bot'))
  const { redirect_uri } = DESKTOP
  const code = await authorize(service, DESKTOP, ada, { ...asked, redirect_uri })
  claimsOf(await redeem(service, DESKTOP, code, { redirect_uri }))
  for (let i = 0; i < 3; i++)
    await new Browser().open(
      authorizeUrl(service, { ...DESKTOP, ...asked, redirect_uri: 'http://localhost/oauth/callback' }),
    )
  return { service, ada, jti }
}

const TOKEN = ['client_id', 'sub', 'resource', 'scope', 'revoked_at']

test('the transcripts of agents.md are what a server answers', { timeout: 90_000 }, async () => {
  const { service, ada, jti } = await openSite()
  const { key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', {
    ...{ name: 'agent', capability: 'operator' },
  })
  const agent = await connectAgent(service, key)
  const replaced = new Map([
    [jti, '<jti>'],
    [ada.id, '<id of Ada>'],
  ])
  const follow = () => new Transcript(agent, replaced)

  const connect = follow()
  await connect.begin('client_cannot_connect', { client: 'Notes Desktop' })
  await connect.call('find', { query: 'Notes Desktop' }, ['matches', 'kind', 'client_id', 'status', 'redirect_uris'])
  const STEP = ['connections', 'steps', 'step', 'status', 'error', 'detail', 'reason', 'count']
  const EXPLAINED = ['reasons', 'wrong', 'fix', 'next_tool']
  const { client_id } = DESKTOP
  const { reasons } = await connect.call('client_connections', { client_id }, [...STEP, ...EXPLAINED])
  const [why] = reasons as [{ reason: string; wrong: string; fix: string }]
  await connect.read('service://reference/reasons', why.reason)
  connect.say(
    `The agent answers: ${why.wrong}. The last step shows the redirect URI that Notes Desktop sends since its update, and \`find\` the registered one. ${why.fix}. The operator here adds it, or the author of the client changes it back.`,
  )

  const leak = follow()
  await leak.begin('token_leaked', { jti })
  await leak.call('find', { query: jti }, ['matches', 'kind', ...TOKEN])
  const { issuances } = await leak.call('issuances', { client_id: 'nightly-export' }, ['issuances', ...TOKEN])
  const counted = await leak.call('revoke_tokens', { client_id: 'nightly-export' }, COUNTS)
  expect(counted['tokens']).toBe((issuances as unknown[]).length)
  leak.say(`The agent shows the number, ${counted['tokens']}, to a person, who agrees.`)
  const done = await leak.call('revoke_tokens', { client_id: 'nightly-export', dry_run: false }, COUNTS)
  expect(done['tokens']).toBe(counted['tokens'])
  leak.say(
    'The agent answers: the tokens of nightly-export are revoked; they could read notes. Now rotate its secret: `service admin client rotate-secret nightly-export`.',
  )

  const uses = follow()
  await uses.begin('who_uses_this_server', { resource: 'notes' })
  await uses.call('find', { query: 'notes' }, ['matches', 'kind', 'client_id', 'slug', 'uri'])
  const list = await uses.call('issuances', { resource: NOTES, since: '30d' }, [
    'issuances',
    'count',
    ...TOKEN.slice(0, 2),
  ])
  uses.say(`The agent answers: ${usersOf(list['issuances'] as Issued[])}.`)

  const page = readFileSync(PAGE, 'utf8')
  const [before] = page.split(HEADING)
  const all = [connect, leak, uses].map((each) => each.end())
  await expect(`${[before?.trimEnd(), HEADING, INTRO, ...all].join('\n\n')}\n`).toMatchFileSnapshot(PAGE)
})

const COUNTS = ['dry_run', 'tokens', 'families', 'clients']

interface Issued {
  client_id: string
  sub: string
}
/** How many tokens each client has, and about how many people. */
function usersOf(issued: readonly Issued[]): string {
  const clients = [...new Set(issued.map(({ client_id }) => client_id))].sort()
  return clients
    .map((client_id) => {
      const own = issued.filter((each) => each.client_id === client_id)
      const people = new Set(own.map(({ sub }) => sub).filter((sub) => sub !== client_id)).size
      const tokens = own.length === 1 ? '1 token' : `${own.length} tokens`
      return `${client_id} has ${tokens}${people > 0 ? ` about ${people === 1 ? '1 person' : `${people} people`}` : ''}`
    })
    .join(', ')
}
