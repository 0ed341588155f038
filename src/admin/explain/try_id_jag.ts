// Checks an ID-JAG assertion step by step, as the token endpoint would, without consuming it.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { decodeJws } from '../../crypto/jws.ts'
import { assertedFacts, jwtBearer, targetOf } from '../../grants/jwt_bearer.ts'
import { OAuthError } from '../../lib/error.ts'
import { name, text } from '../../lib/field.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import { verifyAssertion } from '../../oauth/federation/id_jag.ts'
import { MAX_IDP_TOKEN } from '../../oauth/federation/idp_token.ts'
import { decide } from '../../oauth/tokens/rule.ts'
import type { Client } from '../../records/client.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/service.ts'
import { tryForm } from '../forms/resource_form.ts'
import { invalid } from '../outcome.ts'
import { withXaa } from '../resources/idps.ts'
import { refusalAnswer, TRY_DOC } from './try.ts'

/** The checks in their order, and the reasons of their refusals. */
const STEPS: readonly { check: string; about: string; reasons: readonly Reason[] }[] = [
  { check: 'form', about: 'It is a signed JWT.', reasons: ['malformed'] },
  { check: 'typ', about: 'Its typ is oauth-id-jag+jwt.', reasons: ['typ'] },
  {
    check: 'iss',
    about: 'Its issuer is registered and enabled.',
    reasons: ['issuer', 'unknown_issuer', 'issuer_disabled'],
  },
  {
    check: 'signature',
    about: 'It is signed with a key that its issuer publishes.',
    reasons: ['alg', 'kid', 'unknown_key', 'signature'],
  },
  { check: 'time', about: 'It is neither expired nor too old.', reasons: ['expired', 'iat', 'too_old', 'nbf'] },
  { check: 'aud', about: 'It is intended for this server.', reasons: ['audience'] },
  { check: 'sub', about: 'It has a sub and a jti.', reasons: ['sub', 'jti'] },
  { check: 'client_id', about: 'It was issued to this client.', reasons: ['another_client'] },
  {
    check: 'claims',
    about: 'Its other claims are well-formed and supported.',
    reasons: ['scope', 'authorization_details', 'resource', 'cnf'],
  },
  {
    check: 'resource',
    about: 'Request and assertion name the same resource, which is registered.',
    reasons: [
      'assertion_resource',
      'ambiguous_resource',
      'missing_resource',
      'resource_not_found',
      'root_slash',
      'broker_resource',
    ],
  },
  {
    check: 'scope',
    about: 'At least one scope is allowed by client, assertion and resource.',
    reasons: ['beyond_client_scope', 'default_scope_empty', 'malformed_scope', 'scope_not_in_catalog'],
  },
  { check: 'policy', about: 'A policy of the identity provider allows it.', reasons: ['policy_denied'] },
  {
    check: 'subject',
    about: 'Its subject is a user that may act.',
    reasons: ['subject_not_mapped', 'subject_inactive'],
  },
  { check: 'access', about: 'Its user may use the resource with one of the scopes.', reasons: ['access_refused'] },
]

interface Asked {
  assertion: string
  resource?: string
  scope?: string
}

async function walk(app: App, { assertion: text, resource, scope }: Asked, client: Client) {
  try {
    const assertion = await verifyAssertion(app, text, client)
    const uri = targetOf(app, resource, assertion)
    const found = await decide(app, jwtBearer.rules, assertedFacts(assertion, client, uri, scope))
    const granted = { sub: found.sub, scope: found.names.join(' '), resource: found.resource?.uri }
    const steps = STEPS.map((step) => outcome(step, 'passed'))
    return { ok: true, steps, granted, needs_dpop: assertion.jkt !== undefined }
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    const refusal = refusalAnswer(error)
    // Without the keys of the issuer no key is known.
    const asked = refusal.reason.startsWith('jwks_') ? 'unknown_key' : refusal.reason
    const at = STEPS.findIndex(({ reasons }) => reasons.some((reason) => reason === asked))
    const steps = STEPS.map((step, i) =>
      outcome(step, i === at ? 'failed' : at < 0 || i > at ? 'not_reached' : 'passed'),
    )
    return { ok: false, steps, refusal }
  }
}
const outcome = ({ check, about }: (typeof STEPS)[number], result: string) => ({ check, about, result })

export const tryIdJag: AdminResource = {
  name: 'try',
  doc: TRY_DOC,
  enabled: withXaa,
  actions: {
    idJag: action('POST /admin/try/id-jag', {
      doc: 'Checks an ID-JAG assertion step by step, as the token endpoint would, without consuming it.',
      answer: answers.checkedAssertion,
      needs: 'viewer',
      form: tryForm,
      body: z.strictObject({
        assertion: z.string().trim().min(1, 'must not be empty').max(MAX_IDP_TOKEN).describe('The assertion.'),
        client_id: name(2048).describe('The client that would present it.'),
        resource: text(2048).optional().describe('URI of the resource, if the request would name one.'),
        scope: text(8192).optional().describe('Scope that the request would name.'),
      }),
      audit: 'token_examined',
      cli: { flags: { assertion: { field: 'assertion', secret: true } } },
      async run(app, { body: { client_id, ...asked } }) {
        const client = await app.store.findClient({ client_id })
        if (!client) throw invalid('client_id names no client', 'unknown_client')
        const shown = await walk(app, asked, client)
        const { header, payload: claims } = decodeJws(asked.assertion, MAX_IDP_TOKEN) ?? {}
        return {
          shown: { ...shown, header, claims },
          noted: {
            client_id,
            detail: { assertion: true, ...(shown.refusal ? { reason: shown.refusal.reason } : {}) },
          },
        }
      },
    }),
  },
}
