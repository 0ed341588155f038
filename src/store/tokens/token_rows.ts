// The tables of authorization requests, consents, token families and refresh tokens.
import type { AuthorizationRequest } from '../../records/authorization_request.ts'
import type { Consent } from '../../records/consent.ts'
import type { RefreshToken, TokenFamily } from '../../records/token_family.ts'
import { maybeDecoded } from '../op.ts'
import { column, plainTable } from '../table.ts'

export const REQUESTS = plainTable<AuthorizationRequest>('authorization_requests', {
  id: column.id,
  client_id: column.text(),
  user_id: column.text(),
  session_id: column.id,
  redirect_uri: column.text(),
  redirect_uri_sent: column.bool,
  scope: column.text(),
  asked_scope: column.maybeText(),
  resource: column.maybeText(),
  state: column.maybeText(),
  code_challenge: column.text(),
  dpop_jkt: column.maybeText(),
  sign_in: column.maybeJson(),
  client: column.maybeJson(),
  sealed: column.maybeText(),
  consent_id: column.maybeId,
  code_hash: column.maybeId,
  code_expires_at: column.maybeInt,
  consumed_at: column.readOnly(column.maybeInt),
  denied_at: column.readOnly(column.maybeInt),
  created_at: column.int,
  expires_at: column.int,
  response_mode: column.maybeText(),
  pushed_id: column.maybeId,
  authorization_details: column.maybeJson(),
})

export const CONSENTS = plainTable<Consent>('consent_grants', {
  id: column.id,
  user_id: column.text(),
  client_id: column.text(),
  resource_id: column.text(),
  scope: column.text(),
  redirect_hosts: { ...column.json<Consent['redirect_hosts']>(), read: (value) => maybeDecoded(value) ?? {} },
  created_at: column.int,
  updated_at: column.int,
  revoked_at: column.readOnly(column.maybeInt),
})

export const FAMILIES = plainTable<TokenFamily>('token_families', {
  id: column.id,
  client_id: column.text(),
  user_id: column.text(),
  scope: column.text(),
  asked_scope: column.maybeText(),
  resource: column.maybeText(),
  consent_id: column.maybeId,
  authorization_id: column.id,
  jkt: column.maybeText(),
  sign_in: column.maybeJson(),
  authorization_details: column.maybeJson(),
  created_at: column.int,
  revoked_at: column.readOnly(column.maybeInt),
})

export const REFRESH_TOKENS = plainTable<RefreshToken>('refresh_tokens', {
  id: column.id,
  family_id: column.id,
  hash: column.id,
  expires_at: column.int,
  consumed_at: column.readOnly(column.maybeInt),
  next_id: column.readOnly(column.maybeId),
})
