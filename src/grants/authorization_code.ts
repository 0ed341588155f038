// The authorization code grant (RFC 6749 §4.1.3) with PKCE (RFC 7636).
import type { Params } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { digest, equalSecrets, parseBearer } from '../lib/id.ts'
import type { AuthorizationRequest } from '../records/authorization_request.ts'
import type { Client } from '../records/client.ts'
import type { Grant } from './grant.ts'
import { HELD_RULES } from './held.ts'
import { codeKind, redeemApproved } from './redemption.ts'

export const CODE_PREFIX = 'ac'
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

const KIND = codeKind('authorization_code', 'authorization code')
const { refuse } = KIND

export const authorizationCode = {
  type: 'authorization_code',
  name: 'authorization_code',
  clients: 'any',
  denied: 'token_issue_denied',
  enabled: () => true,
  rules: HELD_RULES,
  lifetime: (config) => config.dcr.default_token_expiry,

  async run(app, input) {
    const { form, client } = input
    if (form.code === undefined) throw missing('code')
    if (form.code_verifier === undefined) throw missing('code_verifier')
    const code = parseBearer(CODE_PREFIX, form.code)
    const found = code && (await app.store.findCode({ id: code.id }))
    if (!found || !equalSecrets(code.hash, found.request.code_hash ?? '')) throw refuse('unknown_code')
    checkProof(form, client, found.request)
    return redeemApproved(app, input, KIND, found)
  },
} satisfies Grant

const missing = (name: 'code' | 'code_verifier') =>
  new OAuthError('invalid_request', `${name} is missing`, { reason: `missing_${name}` })

/** Checks client, redirect_uri and PKCE verifier of the code. Throws invalid_grant. */
function checkProof(form: Params, client: Client, request: AuthorizationRequest): void {
  if (client.client_id !== request.client_id) throw refuse('code_of_another_client')
  const { redirect_uri: value } = form
  if (value !== undefined ? value !== request.redirect_uri : request.redirect_uri_sent)
    throw refuse('redirect_uri_mismatch').with({
      sent: { parameter: 'redirect_uri', value: value ?? '', allowed: [request.redirect_uri] },
    })
  const verifier = form.code_verifier ?? ''
  if (!VERIFIER.test(verifier) || !equalSecrets(digest(verifier), request.code_challenge)) throw refuse('pkce_mismatch')
}
