// The way of a device through the device authorization grant (RFC 8628), and of the user who enters its code.
import { DEVICE_CODE_GRANT } from '../../src/oauth/sign_in/device.ts'
import type { Client } from '../../src/records/client.ts'
import { type Browser, fieldsOf, type Page } from './browser.ts'
import { signedIn } from './documents.ts'
import { type Answer, decide, post } from './flow.ts'
import { addClient, addResource, addUser, type TestService } from './service.ts'

/** Switches the grant on. */
export const DEVICES = { SERVICE_DEVICE_ENABLED: 'true' }

type Fields = Record<string, string | undefined>
type Credentials = Pick<Client, 'client_id'> & { client_secret?: string }

/** A client for devices: public, without redirect URI. */
export const addDeviceClient = (service: Pick<TestService, 'app'>, fields: Record<string, unknown> = {}) =>
  addClient(service, {
    grant_types: [DEVICE_CODE_GRANT, 'refresh_token'],
    redirect_uris: [],
    token_endpoint_auth_method: 'none',
    ...fields,
  })

/** Asks for a device code. */
export const askForCode = (
  { issuer }: Pick<TestService, 'issuer'>,
  client: Credentials | undefined,
  fields: Fields,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  post(`${issuer}/oauth/device_authorization`, client, { scope: 'mcp:read mcp:write', ...fields }, headers)

export interface DeviceCodes {
  device_code: string
  user_code: string
}

/** The codes of an answer that must have come. */
export function codesOf({ status, body }: Answer): DeviceCodes {
  if (status !== 200) throw new Error(`no device code but ${status}: ${JSON.stringify(body)}`)
  return body as unknown as DeviceCodes
}

/** Sends the device code to the token endpoint. */
export const poll = (
  { issuer }: Pick<TestService, 'issuer'>,
  client: Credentials | undefined,
  { device_code }: Pick<DeviceCodes, 'device_code'>,
  headers: Record<string, string> = {},
  fields: Fields = {},
): Promise<Answer> =>
  post(`${issuer}/oauth/token`, client, { grant_type: DEVICE_CODE_GRANT, device_code, ...fields }, headers)

/** Enters a user code in a browser that is signed in. Returns the answer: a redirect to the consent page, or the form again. */
export async function enterCode(
  { issuer }: Pick<TestService, 'issuer'>,
  browser: Browser,
  user_code: string,
): Promise<Page> {
  const page = await browser.open(`${issuer}/device`)
  return browser.post(`${issuer}/device`, { ...Object.fromEntries(fieldsOf(page)), user_code })
}

/** Enters a user code and follows to the consent page. */
export async function consentPageOf(
  service: Pick<TestService, 'issuer'>,
  browser: Browser,
  user_code: string,
): Promise<Page> {
  const { location, status, text } = await enterCode(service, browser, user_code)
  if (!location) throw new Error(`no consent page but ${status}: ${text}`)
  return browser.follow(location)
}

/** Enters a user code and decides. Returns the page after the decision. */
export async function decideFor(
  service: TestService,
  browser: Browser,
  { user_code }: Pick<DeviceCodes, 'user_code'>,
  action: 'allow' | 'deny' = 'allow',
  scopes?: string[],
): Promise<Page> {
  return decide(service, browser, await consentPageOf(service, browser, user_code), action, scopes)
}

/** A device client, a resource, and a user who is signed in in a browser. */
export async function deviceScene(service: TestService, resourceFields: Parameters<typeof addResource>[1] = {}) {
  const [client, resource, user] = [
    await addDeviceClient(service),
    await addResource(service, resourceFields),
    await addUser(service),
  ]
  const browser = await signedIn(service, user)
  const begin = async (fields: Fields = {}, headers?: Record<string, string>) =>
    codesOf(await askForCode(service, client, { resource: resource.uri, ...fields }, headers))
  return { client, resource, user, browser, begin }
}
