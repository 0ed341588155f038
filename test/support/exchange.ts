// A user, clients and resources between which tokens are exchanged (RFC 8693).
import type { Client } from '../../src/records/client.ts'
import type { User } from '../../src/records/user.ts'
import { Browser } from './browser.ts'
import { type Answer, authorize, introspect, machineToken, post, redeem } from './flow.ts'
import { addClient, addResource, addUser, type TestService } from './service.ts'

export const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
export const BOTH = 'mcp:read mcp:write'

export type Registered = Awaited<ReturnType<typeof addClient>>
type Fields = Record<string, unknown>
type Headers = Record<string, string>
const text = (fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  )

/** A confidential client for every grant, token exchange included. */
export const addExchanger = (service: TestService, fields: Fields = {}, record: Partial<Client> = {}) =>
  addClient(service, fields, {
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials', EXCHANGE],
    ...record,
  })

/** Exchanges a token as a client. */
export const exchange = (service: TestService, client: Registered, fields: Fields, headers: Headers = {}) =>
  post(
    `${service.issuer}/oauth/token`,
    client,
    text({ grant_type: EXCHANGE, subject_token_type: ACCESS_TOKEN, ...fields }),
    headers,
  )

/** The client's own token, for use as the actor token. */
export async function actorOf(service: TestService, client: Registered, headers: Headers = {}) {
  const { body } = await machineToken(service, client, { scope: 'mcp:read' }, headers)
  return { actor_token: body['access_token'], actor_token_type: ACCESS_TOKEN }
}

/** A user who is signed in at one browser. */
export async function aPerson(service: TestService, fields: Partial<User> = {}) {
  const [user, browser] = [await addUser(service, fields), new Browser()]
  return {
    user,
    browser,
    /** Issues a token of the user to a client. */
    async signIn(client: Registered, resource?: { uri: string }, scope = BOTH, headers: Headers = {}): Promise<Answer> {
      const authorized = await authorize(service, client, user, { resource: resource?.uri, scope }, browser)
      return redeem(service, client, authorized, {}, headers)
    },
    /** Consents to some scopes of a client at a resource. */
    consent: (client: Registered, { uri }: { uri: string }, scope = BOTH) =>
      authorize(service, client, user, { resource: uri, scope }, browser),
  }
}

/**
 * The usual case: a user has consented to `app` for `source` and for `target`; `gateway` may exchange into `target`, and
 * `server` serves it.
 */
export async function exchangeScene(service: TestService) {
  const [person, app, gateway, server] = [
    await aPerson(service),
    await addExchanger(service),
    await addExchanger(service),
    await addExchanger(service),
  ]
  const source = await addResource(service)
  const policy = {
    exchange: { allowed_client_ids: [gateway.client_id] },
    runtime: { client_ids: [server.client_id] },
  }
  const target = await addResource(service, { policy })
  await person.consent(app, target)
  const answer = await person.signIn(app, source)
  const subject = answer.body['access_token']
  return {
    ...{ ...person, app, gateway, server, source, target, subject, refresh_token: answer.body['refresh_token'] },
    /** Exchanges the subject token for a token of the target, by default as the gateway. */
    exchanged: (fields: Fields = {}, client: Registered = gateway, headers: Headers = {}) =>
      exchange(service, client, { subject_token: subject, resource: target.uri, ...fields }, headers),
    /** The introspection of a token by the server of the target. */
    introspected: (token: unknown) => introspect(service, server, token),
  }
}
