// The grant of CIBA (Core §10.1): a client polls with its auth_req_id until the person has decided at /account/requests.
import { AUTH_REQ_ID_PREFIX, CIBA_GRANT } from '../oauth/sign_in/approval.ts'
import type { Grant } from './grant.ts'
import { HELD_RULES } from './held.ts'
import { type PolledKind, redeemPolled } from './polled.ts'
import { codeKind } from './redemption.ts'

const KIND: PolledKind = {
  code: codeKind('ciba', 'auth_req_id', true),
  sent: (form) => form.auth_req_id,
  parameter: 'auth_req_id',
  prefix: AUTH_REQ_ID_PREFIX,
  isApproval: true,
  of: 'approval',
}

export const ciba = {
  type: CIBA_GRANT,
  name: 'ciba',
  clients: 'confidential',
  denied: 'ciba_denied',
  switch: 'ciba.enabled',
  enabled: (config) => config.ciba.enabled,
  rules: HELD_RULES,
  lifetime: (config) => config.dcr.default_token_expiry,
  run: (app, input) => redeemPolled(app, input, KIND),
} satisfies Grant
