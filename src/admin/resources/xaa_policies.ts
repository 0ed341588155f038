// Admin operations on XAA policies: what an assertion of an identity provider may be redeemed for.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { distinct, jsonBool, name, scopeName, text, url } from '../../lib/field.ts'
import { newId } from '../../lib/id.ts'
import { dated } from '../../lib/time.ts'
import type { XaaPolicy } from '../../records/idp.ts'
import { policyDetail } from '../../store/recorded.ts'
import { type AdminResource, action } from '../action.ts'
import * as answers from '../answers/federation.ts'
import { policyForm } from '../forms/resource_form.ts'
import { changedFields, changesOf, existing, invalid, notFound } from '../outcome.ts'
import { withXaa } from './idps.ts'

const fields = {
  name: text().describe('Display name.'),
  client_ids: distinct(name(2048)).describe('Clients that the policy applies to. Empty: all.'),
  scopes: distinct(scopeName())
    .nullable()
    .describe('Limit of the issued scope. null: no limit. An empty list: no scope.'),
  resources: distinct(url()).describe(
    'URIs of the resources that the policy applies to. Empty: all, and requests without a resource.',
  ),
  enabled: jsonBool().describe('Whether the policy is used.'),
}
const idp_id = name().describe('The identity provider. It cannot be changed.')
const creatable = z.object({
  idp_id,
  name: fields.name.default(''),
  client_ids: fields.client_ids.prefault([]),
  scopes: fields.scopes.prefault(null),
  resources: fields.resources.prefault([]),
  enabled: fields.enabled.prefault(true),
})
const patchable = z.object({ ...fields, idp_id }).partial()

/** A policy in the form of the admin API. `scopes` is absent when the policy does not limit them. */
const policyJson = ({ version: _, ...policy }: XaaPolicy) => dated(policy)

/** Finds a policy by id. Throws not_found. */
const getPolicy = ({ store }: App, id: string) => existing('policy', store.findPolicy({ id }))

export const xaaPolicies: AdminResource = {
  name: 'policy',
  doc: 'XAA policies: what assertions of an identity provider may be redeemed for. Only with `xaa.enabled`.',
  enabled: withXaa,
  actions: {
    list: action('GET /admin/xaa/policies', {
      doc: 'Lists policies, oldest first: the order in which they are tried.',
      answer: z.array(answers.xaaPolicy),
      query: z.strictObject({ idp_id: name().optional().describe('Only policies of this identity provider.') }),
      run: async ({ store }, { query }) => ({ shown: (await store.listPolicies(query)).map(policyJson) }),
    }),
    create: action('POST /admin/xaa/policies', {
      doc: 'Creates a policy.',
      answer: answers.xaaPolicy,
      status: 201,
      form: policyForm,
      body: creatable,
      needs: 'admin',
      audit: 'xaa_policy_created',
      async run(app, { body }, by) {
        const now = app.clock.now()
        const scopes = body.scopes ?? undefined
        const policy = { ...body, scopes, id: `p_${newId()}`, version: 1, created_at: now, updated_at: now }
        if (!(await by.record('createPolicy', policy, { detail: policyDetail(policy) })))
          throw notFound('identity provider')
        return { shown: policyJson(policy) }
      },
    }),
    get: action('GET /admin/xaa/policies/{id}', {
      doc: 'Shows a policy.',
      answer: answers.xaaPolicy,
      run: async (app, { params }) => ({ shown: policyJson(await getPolicy(app, params.id)) }),
    }),
    update: action('PUT /admin/xaa/policies/{id}', {
      doc: 'Changes the named members of a policy.',
      answer: answers.xaaPolicy,
      form: policyForm,
      body: patchable,
      needs: 'admin',
      audit: 'xaa_policy_updated',
      cli: { without: ['idp_id'] },
      async run(app, { params, body: { idp_id, ...patch } }, by) {
        const policy = await getPolicy(app, params.id)
        if (idp_id !== undefined && idp_id !== policy.idp_id) throw invalid('idp_id cannot be changed', 'fixed_field')
        const before = { ...policy, scopes: policy.scopes ?? null }
        const fields = changedFields(before, patch)
        if (fields.length === 0) return { shown: policyJson(policy) }
        const written = { ...before, ...patch, updated_at: app.clock.now() }
        const next = { ...written, scopes: written.scopes ?? undefined }
        const change = { detail: { ...policyDetail(next), ...changesOf(policy, next, fields) } }
        await by.record('updatePolicy', next, change)
        return { shown: policyJson(next) }
      },
    }),
    delete: action('DELETE /admin/xaa/policies/{id}', {
      doc: 'Deletes a policy.',
      needs: 'admin',
      audit: 'xaa_policy_deleted',
      async run(_app, { params: { id } }, by) {
        if (!(await by.record('deletePolicy', { id }, { detail: {} }))) throw notFound('policy')
      },
    }),
  },
}
