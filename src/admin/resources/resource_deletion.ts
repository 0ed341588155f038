// The deletion of a resource with what refers to it, and its restore.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { bool } from '../../lib/field.ts'
import { newId } from '../../lib/id.ts'
import { nameOf } from '../../oauth/tokens/resource.ts'
import { RESTORABLE_DAYS } from '../../records/client.ts'
import type { OnProgress } from '../../records/job.ts'
import type { Resource } from '../../records/resource.ts'
import { action } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { conflict, existing, notFound } from '../outcome.ts'
import { revokeFitting } from '../revocations.ts'
import { checkResourceChange } from '../rights.ts'
import { restorableSince } from './deleted.ts'
import { checkUri } from './resource_check.ts'
import { bySlug, checkCreated, factsOf, getResource, resourceJson } from './resource_record.ts'

/** What keeps a resource from being deleted without cascade. */
const USES = {
  has_links: 'fronting links refer to it; cascade deletes them',
  has_consents: 'users consented to it; cascade revokes the consents',
  has_issuances: 'tokens were issued for it; cascade revokes the live ones',
  has_clients: 'it is the default_resource of a client; with cascade, its requests without a resource are refused',
}

/** The tokens, sign-ins and codes for a resource. */
const atResource = (resource: Resource) => ({ resource: nameOf(resource), but_userinfo: true })
const sweepOf = ({ onProgress }: { onProgress: OnProgress }) => ({ dry_run: false, onProgress })

/** Whether another resource has the slug or the URI. */
const isTaken = async ({ store }: App, { slug, uri }: Resource): Promise<boolean> =>
  [await store.findResourceByName({ name: slug }), uri && (await store.findResource({ uri }))].some(Boolean)

export const removeResource = action('DELETE /admin/resources/{id}', {
  doc: `Deletes a resource. If fronting links, consents, issued tokens or the default_resource of a client refer to it, it is deleted only with cascade. The record of its tokens is kept. For ${RESTORABLE_DAYS} days the resource can be restored, without what was ended.`,
  tool: { name: 'delete_resource', title: 'Delete a resource', destructive: 'get', counts: ['resource', 'uri'] },
  query: z.strictObject({
    cascade: bool()
      .prefault(false)
      .describe(
        'Delete its fronting links, and revoke its consents, sign-ins and live tokens. Clients keep it as their default_resource, and their requests that name no resource are refused.',
      ),
  }),
  long: true,
  audit: 'resource_deleted',
  count: ['ext_resource_server_ops_total', { op: 'delete' }],
  cli: { flags: bySlug },
  async run(app, { params, query: { cascade } }, by) {
    const resource = await getResource(app, params.id)
    const { id } = resource
    const change = { event_id: newId(), detail: { ...factsOf(resource), resource: nameOf(resource), cascade } }
    const deletion = await existing(
      'resource',
      by.record('deleteResource', { id, cascade, now: app.clock.now(), by: by.actor_id }, change),
    )
    const { outcome, links } = deletion
    const dependents = links.map(({ source_slug, target_slug }) => ({ source_slug, target_slug }))
    if (outcome !== 'deleted') throw conflict(USES[outcome], outcome, links.length > 0 ? { dependents } : undefined)
    if (!cascade) return
    const toll = await revokeFitting(app, atResource(resource), sweepOf(by))
    const detail = { ...change.detail, cascaded_links: links.length, ...toll }
    await app.store.completeAudit({ id: change.event_id, detail })
  },
})

export const resourceRestore = action('POST /admin/resources/{id}/restore', {
  doc: `Restores a resource that was deleted within the last ${RESTORABLE_DAYS} days, by its id. Its consents, its tokens and its fronting links stay ended, and clients and users that were deleted since are removed from its lists. It is refused if the slug or the URI was taken meanwhile. A broker resource needs the capability admin, and so does a resource that leads to tokens of a provider.`,
  answer: answers.resource,
  audit: 'resource_restored',
  count: ['ext_resource_server_ops_total', { op: 'restore' }],
  long: true,
  cli: { unlisted: true },
  async run(app, { params }, by) {
    const deleted = await existing(
      'deleted resource',
      app.store.findDeletedResource({ name: params.id, after: restorableSince(app) }),
    )
    const { id: deleted_id, deleted_at, record } = deleted
    const resource = { ...record, updated_at: app.clock.now() }
    await checkResourceChange(app, by, resource)
    await checkUri(app, resource)
    // A process that ended during the deletion may have left tokens, which would be valid again. Those of a later resource stay.
    if (!(await isTaken(app, resource))) await revokeFitting(app, atResource(resource), sweepOf(by))
    const outcome = await by.record(
      'restoreResource',
      { deleted_id, deleted_at, resource },
      { detail: factsOf(resource) },
    )
    if (outcome === undefined) throw notFound('deleted resource')
    if (outcome === 'only_exchange')
      throw conflict(
        'the clients of its exchange list were deleted, and an empty list would allow other clients; restore one of them first',
        'only_exchange',
      )
    checkCreated(outcome)
    return { shown: await resourceJson(app, await getResource(app, resource.id)) }
  },
})
