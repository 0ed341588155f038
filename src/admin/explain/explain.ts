// Explains the outcome of a token request: every rule that is evaluated, its result, where it is set and how to change it.
import { z } from 'zod'
import { issuerOf } from '../../config/issuer.ts'
import type { App } from '../../context.ts'
import type { Grant } from '../../grants/grant.ts'
import { grants } from '../../grants/index.ts'
import { OAuthError } from '../../lib/error.ts'
import { listOf, name, text, word } from '../../lib/field.ts'
import { newId } from '../../lib/id.ts'
import { idTokenClaims } from '../../oauth/openid.ts'
import { claimsOf, withUserClaims } from '../../oauth/tokens/access_token.ts'
import { requestedUri } from '../../oauth/tokens/requested_scope.ts'
import { nameOf } from '../../oauth/tokens/resource.ts'
import type { GrantRule } from '../../oauth/tokens/rule.ts'
import type { RuleName } from '../../oauth/tokens/rule_name.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/service.ts'
import { tryForm } from '../forms/resource_form.ts'
import { invalid } from '../outcome.ts'
import { jsonListFlag } from '../resources/resource_flags.ts'
import { EXPLAINED_GRANTS } from './grants.ts'
import { EXPLAINED_RULES, type ExplainedRequest, type Scene } from './rules.ts'
import { refusalAnswer, TRY_DOC } from './try.ts'

type Outcome = 'passed' | 'failed' | 'not_reached'

async function explain(app: App, request: ExplainedRequest, grant: Grant) {
  const caller = await app.store.findClient({ client_id: request.actor ?? request.client_id })
  const uri = requestedUri(app, request, caller ?? {})
  const explained = EXPLAINED_GRANTS.get(grant.type)
  if (!explained) throw invalid('this grant cannot be explained', 'unknown_grant')
  if (explained.user && request.user === undefined) throw invalid('user is required for this grant', 'missing_user')
  if (!explained.signIn && uri === undefined) throw invalid('resource is required for this grant', 'missing_resource')
  // The rules add the client, and what stands in for a code, token or assertion.
  const scene = Object.assign({} as Scene, {
    ...NOTHING,
    request: { ...request, resource: uri },
    grant,
    uri,
    asked: request.scope,
    sub: request.client_id,
    has_openid: app.config.oauth.openid,
    asked_details: request.authorization_details && JSON.stringify(request.authorization_details),
  })
  const rules: readonly GrantRule<Scene>[] = [...explained.before, ...grant.rules]
  // Two rules of a name are one step, at the place of the first of them.
  const outcomes = new Map<RuleName, Outcome>(rules.map(({ name }) => [name, 'not_reached']))
  // Nearly no request has details.
  const isShown = ([rule, outcome]: [RuleName, Outcome]) =>
    rule !== 'authorization_details' || outcome === 'failed' || request.authorization_details !== undefined
  const steps = () =>
    [...outcomes].filter(isShown).map(([rule, outcome]) => {
      const { where, change } = EXPLAINED_RULES[rule]
      return { rule, outcome, where: where(scene, outcome !== 'not_reached'), change: change(scene) }
    })
  for (const rule of rules)
    try {
      await rule.check(app, scene)
      outcomes.set(rule.name, 'passed')
    } catch (error) {
      if (!(error instanceof OAuthError) || error.status >= 500) throw error
      outcomes.set(rule.name, 'failed')
      scene.fault = error.message
      return { ok: false, steps: steps(), refusal: refusalAnswer(error) }
    }
  const claims = scene.resource?.backend_kind === 'broker' ? {} : claimsFor(app, scene)
  return { ok: true, steps: steps(), ...claims }
}

/** What no rule has found. */
const NOTHING = {
  names: [],
  scope: '',
  user_status: undefined,
  consent_revoked: false,
  granted: { scope: '' },
  refuse: (reason: 'user_inactive' | 'consent_revoked') =>
    new OAuthError('invalid_grant', 'the code or token is not valid', { reason }),
}

/** The claims of the access token, without its id, and those of the ID token, if there is one. */
function claimsFor(app: App, scene: Scene) {
  const { grant, client, sub, act, audience, resource = audience, about, identity, names } = scene
  const now = app.clock.now()
  const scope = EXPLAINED_GRANTS.get(grant.type)?.signIn ? scene.scope : names.join(' ')
  const issuance = {
    id: newId(),
    grant_type: grant.name,
    client_id: client.client_id,
    sub,
    resource: resource && nameOf(resource),
    scope,
    act,
    issued_at: now,
    authorization_details: scene.authorization_details,
    expires_at: now + Math.floor(grant.lifetime(app.config)),
    kid: '',
    is_agent: client.is_agent,
    ip: '',
  }
  const issuer = issuerOf(app.config)
  const key = app.keyring.current(resource?.access_token_typ)
  const { jti, ...claims } = withUserClaims(app, key, claimsOf(issuance, issuer), { about, identity })
  return { claims, ...(identity ? { id_token: idTokenClaims(issuer, issuance, identity) } : {}) }
}

const types = grants.map(({ type }) => type) as [string, ...string[]]

export const tryExplain: AdminResource = {
  name: 'try',
  doc: TRY_DOC,
  actions: {
    explain: action('POST /admin/try/explain', {
      doc: 'Explains whether a token would be issued: every rule in order, its outcome, where it is set and how to change it. Nothing is issued or changed.',
      answer: answers.explained,
      needs: 'viewer',
      tool: { name: 'explain', title: 'Why a token is or is not issued' },
      form: tryForm,
      body: z.strictObject({
        grant: word(types).describe('The grant_type of the request.'),
        client_id: name(2048).describe('The client that the user signed in to, or that sends the request.'),
        user: name()
          .optional()
          .describe('Id or email of the user. Required for every grant except client_credentials.'),
        resource: name(2048)
          .optional()
          .describe(
            'URI of the resource; for an exchange also the slug of a broker resource. Default: that of the client (default_resource). A sign-in with the scope openid needs none.',
          ),
        scope: text(8192).optional().describe('Scope of the request.'),
        authorization_details: listOf(z.record(z.string(), z.unknown()), { max: 20 })
          .optional()
          .describe('Authorization details of the request (RFC 9396).'),
        actor: name(2048)
          .optional()
          .describe(
            'For a token exchange: the client that exchanges the token of client_id. The new token names it in act.',
          ),
        source: name(2048)
          .optional()
          .describe(
            'For a token exchange: URI of the resource that the exchanged token is for. Its fronting link is checked.',
          ),
      }),
      cli: {
        rows: 'steps',
        beforeRows: true,
        flags: {
          detail: jsonListFlag('authorization_details', 'An element of the authorization details of the request'),
        },
      },
      async run(app, { body }) {
        const grant = grants.find(({ type }) => type === body.grant)
        if (!grant) throw invalid('grant names no grant_type', 'unknown_grant')
        return { shown: await explain(app, body, grant) }
      },
    }),
  },
}
