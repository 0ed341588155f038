// The way of a client through an approval (CIBA), and of the person who decides at /account/requests.
import { CIBA_GRANT } from '../../src/oauth/sign_in/approval.ts'
import type { Client } from '../../src/records/client.ts'
import { type Browser, type Form, formsOf, type Page } from './browser.ts'
import { signedIn } from './documents.ts'
import { type Answer, post } from './flow.ts'
import { addClient, addResource, addUser, type TestService } from './service.ts'

/** Switches the grant on. */
export const APPROVALS = { SERVICE_CIBA_ENABLED: 'true' }

type Fields = Record<string, string | undefined>
type Credentials = Pick<Client, 'client_id'> & { client_secret?: string }

/** A client that may ask for approvals. */
export const addAgent = (service: TestService, fields: object = {}, record: Partial<Client> = {}) =>
  addClient(service, { grant_types: [CIBA_GRANT, 'refresh_token'], redirect_uris: [], ...fields }, record)

/** Asks a person. */
export const askPerson = (
  { issuer }: Pick<TestService, 'issuer'>,
  client: Credentials | undefined,
  fields: Fields,
  headers: Record<string, string> = {},
): Promise<Answer> => post(`${issuer}/oauth/bc-authorize`, client, { scope: 'mcp:read mcp:write', ...fields }, headers)

/** The auth_req_id of an answer that must have come. */
export function idIn({ status, body }: Answer): string {
  if (status !== 200) throw new Error(`no auth_req_id but ${status}: ${JSON.stringify(body)}`)
  return String(body['auth_req_id'])
}

/** Sends the auth_req_id to the token endpoint. */
export const pollFor = (
  { issuer }: Pick<TestService, 'issuer'>,
  client: Credentials | undefined,
  auth_req_id: string | undefined,
  fields: Fields = {},
  headers: Record<string, string> = {},
): Promise<Answer> => post(`${issuer}/oauth/token`, client, { grant_type: CIBA_GRANT, auth_req_id, ...fields }, headers)

/** The page on which a person decides. */
export const inboxOf = ({ issuer }: Pick<TestService, 'issuer'>, browser: Browser): Promise<Page> =>
  browser.open(`${issuer}/account/requests`)

/** The forms of requests on a page. */
export const requestsOn = (page: Page): Form[] => formsOf(page).filter(({ html }) => html.includes('name="request_id"'))

/** Decides about the first request whose form contains a text; `keep` says which fields are sent. */
export async function decideOn(
  service: Pick<TestService, 'issuer'>,
  browser: Browser,
  action: 'allow' | 'deny' = 'allow',
  { about = '', keep = () => true }: { about?: string; keep?: (field: [string, string]) => boolean } = {},
): Promise<Page> {
  const form = requestsOn(await inboxOf(service, browser)).find(({ html }) => html.includes(about))
  if (!form) throw new Error(`no request about ${about}`)
  return browser.post(`${service.issuer}/account/requests`, [...form.fields.filter(keep), ['action', action]])
}

/** An agent, a resource, and a person who is signed in in a browser. */
export async function approvalScene(
  service: TestService,
  { agent, resource: fields }: { agent?: object; resource?: Parameters<typeof addResource>[1] } = {},
) {
  const [client, resource, user] = [
    await addAgent(service, agent),
    await addResource(service, fields),
    await addUser(service),
  ]
  const browser = await signedIn(service, user)
  const begin = async (more: Fields = {}, headers?: Record<string, string>) =>
    idIn(await askPerson(service, client, { login_hint: user.email, resource: resource.uri, ...more }, headers))
  return { client, resource, user, browser, begin }
}
