// Trial operations: request a token as a client would, decode a token, check an assertion step by step.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { decodeJws } from '../../crypto/jws.ts'
import { clientCredentials } from '../../grants/client_credentials.ts'
import type { Grant } from '../../grants/grant.ts'
import { checkEnabled, checkRegistered } from '../../grants/index.ts'
import { REFRESH_TOKEN_PREFIX } from '../../grants/refresh_token.ts'
import type { Params, Request } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { name, text } from '../../lib/field.ts'
import { equalSecrets, newId, parseBearer } from '../../lib/id.ts'
import { authenticateClient } from '../../oauth/clients/client_auth.ts'
import { API_KEY_PREFIX } from '../../oauth/stored_api_key.ts'
import { decodeAccessToken, findLiveToken, MAX_TOKEN_LENGTH, signedClaims } from '../../oauth/tokens/access_token.ts'
import { checkBinding } from '../../oauth/tokens/dpop.ts'
import { issue } from '../../oauth/tokens/issue.ts'
import { shownSent } from '../../telemetry/client_failures.ts'
import { type AdminResource, action, type Caller } from '../action.ts'
import * as answers from '../answers/service.ts'
import { tryForm } from '../forms/resource_form.ts'

export const TRY_DOC = 'Trial operations: what a client would get, what a token contains, why an assertion is refused.'
const token = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(MAX_TOKEN_LENGTH)
  .regex(/^[\x21-\x7e]+$/, 'must be ASCII text without spaces')

/** A request in the form of the token endpoint. */
const requestOf = ({ ip, request_id }: Caller, form: Params): Request => ({
  method: 'POST',
  path: '/oauth/token',
  query: '',
  headers: {},
  repeated: [],
  remote: ip,
  id: request_id ?? newId(),
  body: Buffer.from(new URLSearchParams(form as Record<string, string>).toString()),
  params: {},
  startedMs: performance.now(),
  notes: {},
})

/** A refusal for an operator, with the reason that the caller does not see. */
export const refusalAnswer = ({ status, code, message, reason, more: { sent } }: OAuthError) => ({
  status,
  error: code,
  error_description: message,
  reason,
  ...(sent && shownSent(sent)),
})

/** Issues a token as the token endpoint would. Throws its refusals. */
export async function mint(app: App, grant: Grant, form: Params, caller: Caller) {
  const request = requestOf(caller, form)
  const client = await authenticateClient(app, request, form, grant.clients)
  checkEnabled(app, grant)
  checkRegistered(client, grant)
  checkBinding(client, undefined)
  return issue(app, request, await grant.run(app, { request, form, client }), [])
}

type Examined = z.output<typeof answers.examined>

/** What an opaque value is: a refresh token or a key of the admin API. */
async function examineOpaque({ store, clock }: App, text: string): Promise<Examined> {
  const now = clock.now()
  const token = parseBearer(REFRESH_TOKEN_PREFIX, text)
  const found = token && (await store.findRefreshToken({ id: token.id }))
  if (found && equalSecrets(found.token.hash, token.hash)) {
    const { id: family_id, client_id, user_id, revoked_at } = found.family
    const active = revoked_at === undefined && found.token.consumed_at === undefined && found.token.expires_at > now
    return { form: 'opaque', ours: true, active, kind: 'refresh_token', family_id, client_id, user_id }
  }
  const key = parseBearer(API_KEY_PREFIX, text)
  const stored = key && (await store.findApiKey({ id: key.id }))
  if (stored && equalSecrets(stored.hash, key.hash))
    return { form: 'opaque', ours: true, active: true, kind: 'api_key', api_key_id: stored.id }
  return { form: 'opaque', ours: false, active: false }
}

/** The content of a token, its signature, and whether it is still active. */
async function examine(app: App, text: string): Promise<Examined> {
  const jws = decodeJws(text, MAX_TOKEN_LENGTH)
  if (!jws) return examineOpaque(app, text)
  const { header, payload: claims } = jws
  const candidate = await decodeAccessToken(app, text)
  const signed = candidate && (await signedClaims(app, candidate))
  const live = await findLiveToken(app, text)
  const state = candidate && (await app.store.findTokenState({ id: candidate.jti }))
  const { exp } = claims
  const expired = typeof exp === 'number' && exp <= app.clock.now()
  return {
    form: 'jwt',
    header,
    claims,
    ours: candidate !== undefined,
    signature: !candidate ? 'unknown_key' : signed ? 'valid' : 'invalid',
    expired,
    revoked: state !== undefined && !state.live,
    active: live !== undefined,
    ...(state ? { issuance_id: state.issuance.id } : {}),
  }
}

export const tries: AdminResource = {
  name: 'try',
  doc: TRY_DOC,
  actions: {
    token: action('POST /admin/try/token', {
      doc: 'Issues a client_credentials token as the token endpoint would, or shows the exact reason of the refusal.',
      answer: answers.triedToken,
      form: tryForm,
      body: z.strictObject({
        client_id: name(2048).describe('The client.'),
        client_secret: text(2048).min(1, 'must not be empty').describe('The secret of the client.'),
        resource: text(2048).optional().describe('URI of the resource that the token is for.'),
        scope: text(8192)
          .optional()
          .describe('Scope names, separated by spaces. Default: all scopes that the client may have.'),
      }),
      audit: 'token_tried',
      cli: { flags: { 'client-secret': { field: 'client_secret', secret: true } } },
      async run(app, { body }, caller) {
        const { client_id } = body
        try {
          const response = await mint(app, clientCredentials, { grant_type: clientCredentials.type, ...body }, caller)
          return { shown: { granted: true, response }, noted: { client_id, detail: { granted: true } } }
        } catch (error) {
          if (!(error instanceof OAuthError) || error.status >= 500) throw error
          const { reason } = error
          return {
            shown: { granted: false, refusal: refusalAnswer(error) },
            noted: { client_id, detail: { granted: false, reason } },
          }
        }
      },
    }),
    decode: action('POST /admin/try/decode', {
      doc: 'Decodes a token, and shows whether this service signed it and whether it is still active. Of a refresh token and of a key of the admin API it shows what they belong to.',
      answer: answers.examined,
      needs: 'viewer',
      tool: { name: 'decode_token', title: 'Decode a token' },
      body: z.strictObject({ token: token.describe('The token.') }),
      audit: 'token_examined',
      cli: { flags: { token: { field: 'token', secret: true } } },
      async run(app, { body }) {
        const shown = await examine(app, body.token)
        const { ours, issuance_id: jti, family_id: family, api_key_id } = shown
        return { shown, noted: { detail: { ours, jti, family, api_key_id } } }
      },
    }),
  },
}
