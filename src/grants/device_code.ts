// The device authorization grant (RFC 8628 §3.4): a device polls with its device code until the user has decided at /device.
import { DEVICE_CODE_GRANT, DEVICE_CODE_PREFIX } from '../oauth/sign_in/device.ts'
import type { Grant } from './grant.ts'
import { HELD_RULES } from './held.ts'
import { type PolledKind, redeemPolled } from './polled.ts'
import { codeKind } from './redemption.ts'

const KIND: PolledKind = {
  code: codeKind('device_code', 'device code'),
  sent: (form) => form.device_code,
  parameter: 'device_code',
  prefix: DEVICE_CODE_PREFIX,
  isApproval: false,
  of: 'device',
}

export const deviceCode = {
  type: DEVICE_CODE_GRANT,
  name: 'device_code',
  clients: 'any',
  denied: 'device_code_denied',
  switch: 'device.enabled',
  enabled: (config) => config.device.enabled,
  rules: HELD_RULES,
  lifetime: (config) => config.dcr.default_token_expiry,
  run: (app, input) => redeemPolled(app, input, KIND),
} satisfies Grant
