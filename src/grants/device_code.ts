// The device authorization grant (RFC 8628 §3.4): a device polls with its device code until the user has decided at /device. The approved
// request is redeemed in the same way as that of an authorization code.
import type { App } from '../context.ts'
import { type ErrorCode, OAuthError } from '../lib/error.ts'
import { equalSecrets, parseBearer } from '../lib/id.ts'
import type { Reason } from '../lib/reasons/index.ts'
import { millisOf } from '../lib/time.ts'
import { DEVICE_CODE_GRANT, DEVICE_CODE_PREFIX } from '../oauth/sign_in/device.ts'
import type { PolledRequest } from '../records/polled_request.ts'
import type { Grant } from './grant.ts'
import { HELD_RULES } from './held.ts'
import { codeKind, redeemApproved } from './redemption.ts'

const KIND = codeKind('device_code', 'device code')
const { refuse } = KIND

/** The answers that only this grant has (RFC 8628 §3.5). All of them have status 400 (RFC 6749 §5.2). */
const answer = (code: ErrorCode, description: string, reason: Reason) =>
  new OAuthError(code, description, { reason, status: 400 })

export const deviceCode = {
  type: DEVICE_CODE_GRANT,
  name: 'device_code',
  clients: 'any',
  denied: 'device_code_denied',
  switch: 'device.enabled',
  enabled: (config) => config.device.enabled,
  rules: HELD_RULES,
  lifetime: (config) => config.dcr.default_token_expiry,

  async run(app, input) {
    const { form, client } = input
    if (form.device_code === undefined)
      throw new OAuthError('invalid_request', 'device_code is missing', { reason: 'missing_device_code' })
    const code = parseBearer(DEVICE_CODE_PREFIX, form.device_code)
    const device = code && (await app.store.findPolledRequest({ id: code.id }))
    if (!device || !equalSecrets(code.hash, device.hash)) throw refuse('unknown_device_code')
    if (device.client_id !== client.client_id) throw refuse('device_code_of_another_client')
    if (device.decision === undefined) throw await unapproved(app, device)
    const found = device.decision === 'approved' ? await app.store.findCode({ id: device.id }) : undefined
    // An approval without its request: it was cancelled since, because the user was disabled or signed out everywhere.
    if (!found) throw answer('access_denied', 'the user denied the request', `device_${device.decision}`)
    if (found.request.consumed_at === undefined && device.expires_at <= app.clock.now()) throw expired()
    return redeemApproved(app, input, KIND, found)
  },
} satisfies Grant

const expired = () => answer('expired_token', 'the device code has expired', 'device_code_expired')

/** The answer to a poll before the decision. */
async function unapproved(app: App, { id, expires_at }: PolledRequest): Promise<OAuthError> {
  if (expires_at <= app.clock.now()) return expired()
  return (await app.store.pollPolledRequest({ id, now_ms: millisOf(app.clock) })) === 'pending'
    ? answer('authorization_pending', 'the user has not decided yet', 'device_pending')
    : answer('slow_down', 'the device asks too often: wait 5 seconds longer between two requests', 'device_slow_down')
}
