// Admin operations on the identity providers whose ID-JAG assertions, and where set subject tokens, are accepted.

import { z } from 'zod'
import { isOwnIssuer, issuerOf } from '../../config/issuer.ts'
import type { Config } from '../../config/schema.ts'
import type { App } from '../../context.ts'
import { unavailable } from '../../lib/error.ts'
import { distinct, endpoint, jsonBool, name, text } from '../../lib/field.ts'
import { newId } from '../../lib/id.ts'
import { dated } from '../../lib/time.ts'
import { FetchError } from '../../net/error.ts'
import type { Idp } from '../../records/idp.ts'
import { type AdminResource, action } from '../action.ts'
import { refreshed } from '../answers/answers.ts'
import * as answers from '../answers/federation.ts'
import { newIdpForm } from '../forms/provider_forms.ts'
import { changedFields, changesOf, conflict, existing, invalid, notFound } from '../outcome.ts'
import { withHostWarning } from '../unreachable.ts'

const fields = {
  name: name().describe('Display name. Default: the issuer.'),
  audience: text(2048)
    .min(1, 'must not be empty')
    .describe('Required aud of its assertions. Default: the issuer of this server.'),
  jwks_uri: endpoint().describe('URL of its keys. Plain http only with cimd.allow_private_addresses.'),
  enabled: jsonBool().describe('Whether its assertions and subject tokens are accepted.'),
  subject_tokens: jsonBool().describe(
    'Whether its signed access tokens and ID tokens are accepted as subject_token of a token exchange. Needs audiences.',
  ),
  audiences: distinct(text(2048).min(1, 'must not be empty')).describe(
    'Accepted aud of its subject tokens; one of them must match. For an ID token this is the client_id at the provider.',
  ),
}
const issuer = endpoint().describe('The iss of its assertions, compared byte for byte. It cannot be changed.')
const creatable = z.object({
  issuer,
  audience: fields.audience.optional(),
  jwks_uri: fields.jwks_uri,
  name: fields.name.optional(),
  enabled: fields.enabled.prefault(true),
  subject_tokens: fields.subject_tokens.prefault(false),
  audiences: fields.audiences.prefault([]),
})
const patchable = z.object({ ...fields, issuer }).partial()

/** An identity provider in the form of the admin API, with a warning when its keys cannot be fetched. */
const idpShown = (app: App, { version: _, ...idp }: Idp) => withHostWarning(app, dated(idp), [['xaa', idp.jwks_uri]])

/** The XAA endpoints exist only when the grant is enabled. */
export const withXaa = ({ xaa }: Config): boolean => xaa.enabled

/** Finds an identity provider by id. Throws not_found. */
const getIdp = ({ store }: App, id: string) => existing('identity provider', store.findIdp({ id }))

/** Keys fetched over plain http can be forged. They are accepted only for development on one machine. */
function checkJwksUri({ cimd }: Config, jwks_uri: string): void {
  if (!cimd.allow_private_addresses && !/^https:/i.test(jwks_uri))
    throw invalid('jwks_uri must use https', 'insecure_jwks_uri')
}

/** Without audiences no subject token could ever match. */
function checkAudiences({ subject_tokens, audiences }: Idp): void {
  if (subject_tokens && audiences.length === 0) throw invalid('subject_tokens needs audiences', 'no_audiences')
}

async function forgetKeys({ remoteKeys, frontPool }: App, { jwks_uri }: Idp): Promise<void> {
  remoteKeys.drop(jwks_uri)
  await frontPool?.dropKeys(jwks_uri)
}

/** Fetches the keys of an identity provider now. Returns their number. Throws temporarily_unavailable with the reason. */
async function refreshKeys({ remoteKeys, frontPool }: App, { jwks_uri }: Idp): Promise<number> {
  try {
    const count = await remoteKeys.refresh(jwks_uri)
    await frontPool?.dropKeys(jwks_uri)
    return count
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    throw unavailable(`the keys could not be fetched: ${error.message}`, {
      reason: `jwks_${error.reason}`,
      cause: error,
    })
  }
}

/** Where an agent finds the id. */
const inStatus = { id: { name: 'id', doc: 'Id of the identity provider: that of its entry in providers of status.' } }

const counted = (operation: string) => ['ext_xaa_idp_operations_total', { operation }] as const
const facts = ({ id, issuer }: Idp) => ({ idp_id: id, issuer })

/** Subjects are `<issuer>:<sub>`. If one issuer is another one plus a colon and more, two people could get the same subject. */
async function checkApart(app: App, issuer: string): Promise<void> {
  const near = (await app.store.listIdps()).find(
    (idp) => idp.issuer.startsWith(`${issuer}:`) || issuer.startsWith(`${idp.issuer}:`),
  )
  if (near) throw conflict(`its subjects could be confused with those of ${near.issuer}`, 'idp_ambiguous')
}

export const idps: AdminResource = {
  name: 'idp',
  item: 'identity provider',
  doc: 'Identity providers whose assertions (ID-JAG) and subject tokens are accepted. Only with `xaa.enabled`.',
  enabled: withXaa,
  actions: {
    list: action('GET /admin/idps', {
      doc: 'Lists identity providers, oldest first.',
      answer: z.array(answers.idp),
      run: async (app) => ({
        shown: await Promise.all((await app.store.listIdps()).map((idp) => idpShown(app, idp))),
      }),
    }),
    create: action('POST /admin/idps', {
      doc: 'Registers an identity provider. Its assertions are refused until it has a policy.',
      answer: answers.idp,
      status: 201,
      form: newIdpForm,
      body: creatable,
      needs: 'admin',
      audit: 'idp_created',
      count: counted('create'),
      async run(app, { body }, by) {
        const own = issuerOf(app.config)
        if (isOwnIssuer(app.config, body.issuer)) throw invalid('issuer must not be that of this server', 'own_issuer')
        checkJwksUri(app.config, body.jwks_uri)
        const now = app.clock.now()
        const { name = body.issuer, audience = own } = body
        const idp: Idp = { ...body, name, audience, id: `i_${newId()}`, version: 1, created_at: now, updated_at: now }
        checkAudiences(idp)
        await checkApart(app, body.issuer)
        if ((await by.record('createIdp', idp, { detail: facts(idp) })) === 'exists')
          throw conflict('an identity provider with this issuer exists already', 'idp_exists')
        return { shown: await idpShown(app, idp) }
      },
    }),
    get: action('GET /admin/idps/{id}', {
      doc: 'Shows an identity provider.',
      answer: answers.idp,
      run: async (app, { params }) => ({ shown: await idpShown(app, await getIdp(app, params.id)) }),
    }),
    update: action('PUT /admin/idps/{id}', {
      doc: 'Changes the named members of an identity provider.',
      answer: answers.idp,
      body: patchable,
      needs: 'admin',
      tool: {
        name: 'switch_provider',
        title: 'Enable or disable an identity provider',
        only: ['enabled'],
        doc: 'Enables or disables an identity provider. The assertions and subject tokens of a disabled one are refused.',
        params: inStatus,
      },
      audit: 'idp_updated',
      cli: { without: ['issuer'] },
      count: counted('update'),
      async run(app, { params, body: { issuer, ...patch } }, by) {
        const idp = await getIdp(app, params.id)
        if (issuer !== undefined && issuer !== idp.issuer) throw invalid('issuer cannot be changed', 'fixed_field')
        const fields = changedFields(idp, patch)
        if (fields.length === 0) return { shown: await idpShown(app, idp) }
        if (fields.includes('jwks_uri')) checkJwksUri(app.config, patch.jwks_uri ?? idp.jwks_uri)
        const next = { ...idp, ...patch, updated_at: app.clock.now() }
        checkAudiences(next)
        const change = { detail: { ...facts(next), ...changesOf(idp, next, fields) } }
        await by.record('updateIdp', next, change)
        if (next.jwks_uri !== idp.jwks_uri) await forgetKeys(app, idp)
        return { shown: await idpShown(app, next) }
      },
    }),
    refreshKeys: action('POST /admin/idps/{id}/refresh-keys', {
      doc: 'Fetches the keys of an identity provider now, and replaces the cached ones.',
      answer: refreshed,
      tool: {
        name: 'refresh_provider_keys',
        title: 'Fetch the keys of an identity provider',
        params: inStatus,
      },
      audit: 'idp_keys_refreshed',
      count: counted('refresh_keys'),
      async run(app, { params }) {
        const idp = await getIdp(app, params.id)
        const keys = await refreshKeys(app, idp)
        return { shown: { status: 'refreshed' }, noted: { detail: { ...facts(idp), keys } } }
      },
    }),
    delete: action('DELETE /admin/idps/{id}', {
      doc: 'Deletes an identity provider with its policies and subject mappings.',
      needs: 'admin',
      audit: 'idp_deleted',
      count: counted('delete'),
      async run(app, { params }, by) {
        const idp = await getIdp(app, params.id)
        if (!(await by.record('deleteIdp', { id: idp.id }, { detail: facts(idp) }))) throw notFound('identity provider')
        await forgetKeys(app, idp)
      },
    }),
  },
}
