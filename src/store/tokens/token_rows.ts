// Rows of authorization requests and token families.
import type { AuthorizationRequest } from '../../records/authorization_request.ts'
import type { Client } from '../../records/client.ts'
import type { TokenFamily } from '../../records/token_family.ts'
import { decoded, flag, idText, maybeDecoded, maybeIdText, maybeNum, maybeStr, num, type Row, str } from '../op.ts'

/** The columns that readRequest() reads. */
export const REQUEST_COLUMNS =
  'id, client_id, user_id, session_id, redirect_uri, redirect_uri_sent, scope, asked_scope, resource, state, code_challenge, dpop_jkt, sign_in, client, sealed, consent_id, code_hash, code_expires_at, consumed_at, denied_at, created_at, expires_at, response_mode, pushed_id, authorization_details'

/** An authorization request from its row. */
export const readRequest = (row: Row): AuthorizationRequest => ({
  id: idText(row.id),
  client_id: str(row.client_id),
  user_id: str(row.user_id),
  session_id: idText(row.session_id),
  redirect_uri: str(row.redirect_uri),
  redirect_uri_sent: flag(row.redirect_uri_sent),
  scope: str(row.scope),
  asked_scope: maybeStr(row.asked_scope),
  resource: maybeStr(row.resource),
  state: maybeStr(row.state),
  code_challenge: str(row.code_challenge),
  dpop_jkt: maybeStr(row.dpop_jkt),
  sign_in: maybeDecoded(row.sign_in),
  client: row.client ? decoded<Client>(row.client) : undefined,
  sealed: maybeStr(row.sealed),
  consent_id: maybeIdText(row.consent_id),
  code_hash: maybeIdText(row.code_hash),
  code_expires_at: maybeNum(row.code_expires_at),
  consumed_at: maybeNum(row.consumed_at),
  denied_at: maybeNum(row.denied_at),
  created_at: num(row.created_at),
  expires_at: num(row.expires_at),
  response_mode: row.response_mode === 'form_post' ? 'form_post' : undefined,
  pushed_id: maybeIdText(row.pushed_id),
  authorization_details: maybeDecoded(row.authorization_details),
})

/** The columns that readFamily() reads. */
export const FAMILY_COLUMNS =
  'id, client_id, user_id, scope, asked_scope, resource, consent_id, authorization_id, jkt, sign_in, authorization_details, created_at, revoked_at'

/** A family from its row. `id` is the id of the family, because a row of a join may have several ids. */
export const readFamily = (row: Row, id: unknown): TokenFamily => ({
  id: idText(id),
  client_id: str(row.client_id),
  user_id: str(row.user_id),
  scope: str(row.scope),
  asked_scope: maybeStr(row.asked_scope),
  resource: maybeStr(row.resource),
  consent_id: maybeIdText(row.consent_id),
  authorization_id: idText(row.authorization_id),
  jkt: maybeStr(row.jkt),
  sign_in: maybeDecoded(row.sign_in),
  authorization_details: maybeDecoded(row.authorization_details),
  created_at: num(row.created_at),
  revoked_at: maybeNum(row.revoked_at),
})
