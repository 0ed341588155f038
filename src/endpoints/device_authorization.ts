// POST /oauth/device_authorization (RFC 8628 §3.1): a device gets a device code, and the user code that its user enters at /device.
import type { App } from '../context.ts'
import { deviceCode } from '../grants/device_code.ts'
import type { Grant, GrantInput } from '../grants/grant.ts'
import { parseForm, type Reply, type Request } from '../http/message.ts'
import { subscriber } from '../http/rate_limit.ts'
import { checkWait, OAuthError } from '../lib/error.ts'
import { newBearer } from '../lib/id.ts'
import { isPublic } from '../oauth/clients/client_metadata.ts'
import { effectiveDcrMode } from '../oauth/clients/registration_mode.ts'
import { PATHS } from '../oauth/metadata.ts'
import { DEVICE_CODE_PREFIX, newUserCode, shownUserCode, userCodeHash } from '../oauth/sign_in/device.ts'
import { askedGrant, ELSEWHERE, storedAsked } from '../oauth/tokens/request_rules.ts'
import type { Client } from '../records/client.ts'
import type { SingleUse } from '../records/single_use.ts'
import type { NewPolledRequest } from '../store/tokens/polled_requests.ts'
import { answerClient } from './client_request.ts'
import { sentFrom } from './session.ts'

/** Answers a device authorization request. */
export const authorizeDevice = (app: App, request: Request): Promise<Reply> =>
  answerClient(app, request, parseForm(request), deviceCode, startDevice)

async function startDevice(app: App, _grant: Grant, input: GrantInput, uses: readonly SingleUse[]) {
  const { request, form, client } = input
  await takeCode(app, request, client)
  await checkSelfDescribed(app, client)
  const asked = storedAsked(await askedGrant(app, form, client, ELSEWHERE))
  const { device_code, user_code, expires_in, interval } = await createCodes(app, input, { ...asked, uses })
  app.metrics.count('ext_device_authorizations_total')
  const verification_uri = app.config.server.issuer + PATHS.device
  return {
    device_code,
    user_code,
    verification_uri,
    verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
    expires_in,
    interval,
  }
}

/** Limits the codes of an address, unless the client has proved who it is: each code is a row in the database. Throws slow_down. */
async function takeCode(app: App, { remote }: Request, client: Client): Promise<void> {
  const wait = app.config.rate_limit.enabled && isPublic(client) ? await app.deviceCodes.take(subscriber(remote)) : 0
  checkWait(wait, 'too many device codes for this address', 'device_code_rate')
}

/**
 * With dcr.mode approved_redirects a client is trusted because of its approved redirect URI, and a device has none. So an operator must
 * have accepted a client document. Throws unauthorized_client.
 */
async function checkSelfDescribed(app: App, { registration_source, operator_set }: Client): Promise<void> {
  if (registration_source !== 'cimd' || operator_set || (await effectiveDcrMode(app)) === 'open') return
  throw new OAuthError('unauthorized_client', 'an administrator must allow this client to be used on devices', {
    reason: 'device_client_not_admitted',
  })
}

/** Maximum number of attempts to find a user code that is not in use. Two codes are equal only once in billions of requests. */
const TRIES = 5

async function createCodes(
  app: App,
  { request, client, proof }: GrantInput,
  asked: Pick<NewPolledRequest, 'scope' | 'asked_scope' | 'resource' | 'authorization_details' | 'uses'>,
) {
  const { code_expiry, interval } = app.config.device
  const now = app.clock.now()
  const expires_in = Math.ceil(code_expiry)
  const wait = Math.ceil(interval)
  const bearer = newBearer(DEVICE_CODE_PREFIX)
  for (let tries = 0; tries < TRIES; tries++) {
    const user_code = newUserCode()
    const isCreated = await app.store.createPolledRequest({
      id: bearer.id,
      hash: bearer.hash,
      user_code_hash: userCodeHash(app, user_code),
      client_id: client.client_id,
      ...asked,
      dpop_jkt: proof?.jkt,
      ...sentFrom(request),
      wait,
      created_at: now,
      expires_at: now + expires_in,
    })
    if (isCreated) return { device_code: bearer.value, user_code: shownUserCode(user_code), expires_in, interval: wait }
  }
  throw new OAuthError('server_error', 'no unused user code was found')
}
