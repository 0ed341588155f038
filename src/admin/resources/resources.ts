// Admin operations on resources. The fields and their rules are those of config/records.ts.
import { z } from 'zod'
import { type ResourceRecord, resourceFields, resourceRecord } from '../../config/records.ts'
import type { App } from '../../context.ts'
import { quoteNames } from '../../lib/bounded.ts'
import { int, name, slug, text, word } from '../../lib/field.ts'
import { narrows } from '../../oauth/tokens/access.ts'
import { newResource, resourceFieldsOf } from '../../oauth/tokens/resource_record.ts'
import type { Resource, ResourcePolicy } from '../../records/resource.ts'
import { type AdminResource, action, type Change, type Recorder } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { resourceForm } from '../forms/resource_form.ts'
import { AFTER, cursorOf, q } from '../lists.ts'
import { changedFields, changesOf, invalid, parsed } from '../outcome.ts'
import { checkResourceChange } from '../rights.ts'
import { discover } from './discover.ts'
import { getProvider } from './providers.ts'
import { checkDetailsTypes, checkedResource, checkPublished, checkUri } from './resource_check.ts'
import { removeResource, resourceRestore } from './resource_deletion.ts'
import { providerFlag, resourceFlags } from './resource_flags.ts'
import { bySlug, checkCreated, factsOf, getResource, resourceJson } from './resource_record.ts'

/** Without defaults, so that a patch keeps the members that it does not name. */
const patchable = z.strictObject({ ...resourceFields, scopes: resourceFields.scopes.removeDefault() }).partial()

/** Writes a resource that was read before, with the event whose detail has these members. Throws conflict for a taken slug or uri, invalid_request for unknown clients. */
export async function writeResource(
  app: App,
  stored: Resource,
  next: Resource,
  by: Recorder,
  detail: Change['detail'],
): Promise<Resource> {
  await checkResourceChange(app, by, next, stored)
  await checkClients(app, next.policy, stored.policy)
  await checkDetailsTypes(app, next)
  await checkUri(app, next)
  const changed = { ...next, updated_at: app.clock.now() }
  const isMoved = stored.backend_kind === 'mint' && next.backend_kind === 'mint' && next.uri !== stored.uri
  const written = isMoved ? { ...changed, uri_before: stored.uri } : changed
  const narrowed = narrows(stored, next) ? { narrowed: true } : {}
  const outcome = await by.record('updateResource', written, { detail: { ...factsOf(next), ...detail, ...narrowed } })
  checkCreated(outcome)
  return changed
}

/** A policy may only add clients that exist. Clients that it names already may have been deleted since. */
async function checkClients({ store }: App, policy: ResourcePolicy, before?: ResourcePolicy): Promise<void> {
  const idsOf = (each?: ResourcePolicy) => [
    ...(each?.exchange.allowed_client_ids ?? []),
    ...(each?.runtime.client_ids ?? []),
  ]
  const old = idsOf(before)
  const added = idsOf(policy).filter((id) => !old.includes(id))
  const known = added.length > 0 ? await store.listKnownClients({ client_ids: added }) : []
  const unknown = added.filter((id) => !known.includes(id))
  if (unknown.length > 0) throw invalid(`policy names unknown clients: ${quoteNames(unknown, ', ')}`, 'unknown_client')
}

/** Resolves the provider of a resource to its slug. Throws not_found, or invalid_request when id and slug name different providers. */
async function withProvider<R extends Pick<ResourceRecord, 'broker_provider_id' | 'broker_provider_slug'>>(
  app: App,
  { broker_provider_id: id, ...written }: R,
) {
  if (id === undefined) return written
  const { slug } = await getProvider(app, id)
  if (written.broker_provider_slug !== undefined && written.broker_provider_slug !== slug)
    throw invalid('broker_provider_id and broker_provider_slug name different providers', 'two_providers')
  return { ...written, broker_provider_slug: slug }
}

/** Refuses changes that fronting links depend on: the slug, the kind, and the scopes of their maps. Throws invalid_request. */
async function checkLinks({ store }: App, stored: Resource, next: Pick<Resource, 'slug' | 'backend_kind' | 'scopes'>) {
  const links = await store.listFrontingLinks({ slug: stored.slug })
  if (links.length === 0) return
  const refuse = (what: string) => invalid(`fronting links refer to ${what}: delete them first`, 'fronting_link')
  if (next.slug !== stored.slug) throw refuse('its slug')
  if (next.backend_kind !== stored.backend_kind) throw refuse('its backend_kind')
  const used = links.flatMap(({ source_slug, scope_map }) =>
    source_slug === stored.slug ? Object.keys(scope_map) : Object.values(scope_map).flat(),
  )
  const gone = [...new Set(used)].filter((name) => !next.scopes.some((scope) => scope.name === name))
  if (gone.length > 0) throw refuse(`scopes that would be removed (${quoteNames(gone)})`)
}

export const resources: AdminResource = {
  name: 'resource',
  doc: 'Resources: the MCP servers that tokens are for.',
  lookup: {
    slug: { doc: 'Slug of the resource.' },
    name: { doc: 'Display name of the resource, if no other resource has it.', query: 'q', member: 'display_name' },
  },
  columns: ['slug', 'uri', 'backend_kind', 'display_name', 'id'],
  actions: {
    list: action('GET /admin/resources', {
      doc: 'Lists resources, oldest first.',
      answer: z.union([z.array(answers.resource), answers.resource]),
      query: z
        .strictObject({
          slug: slug().optional().describe('Show the resource with this slug. No other parameter may be set.'),
          backend_kind: word(['mint', 'broker']).optional().describe('Only resources of this kind.'),
          broker_provider_slug: slug().optional().describe('Only resources of this provider.'),
          broker_provider_id: text(256).optional().describe('Only resources of the provider with this id.'),
          limit: int(1, 500).optional().describe('Maximum number of items. Default: 100.'),
          offset: int(0, 1_000_000_000).optional().describe('Number of items to skip.'),
          q: q.describe('Only resources with this text in their name, slug or URI. Case is ignored.'),
          after: name().optional().describe(AFTER),
        })
        .refine(
          ({ slug, ...filters }) => slug === undefined || Object.values(filters).every((each) => each === undefined),
          { path: ['slug'], message: 'takes no other parameter' },
        ),
      cli: { flags: providerFlag, without: ['slug', 'broker_provider_id'] },
      async run(app, { query: { slug, limit = 100, offset, after: last, ...given } }) {
        if (slug !== undefined) return { shown: await resourceJson(app, await getResource(app, slug)) }
        const filter = await withProvider(app, given)
        const after = await cursorOf('resource', last, (name) => app.store.findResourceByName({ name }))
        const found = await app.store.listResources({ ...filter, after, limit, offset })
        return { shown: await Promise.all(found.map((each) => resourceJson(app, each))) }
      },
    }),
    create: action('POST /admin/resources', {
      doc: 'Creates a resource. A broker resource needs the capability admin, and so does a server of a mint resource if it could exchange into a broker resource.',
      answer: answers.resource,
      status: 201,
      form: resourceForm,
      body: resourceRecord,
      audit: 'resource_created',
      count: ['ext_resource_server_ops_total', { op: 'create' }],
      cli: { flags: resourceFlags, without: ['policy', 'broker_provider_id'] },
      async run(app, { body }, by) {
        const resource = newResource(await withProvider(app, body), app.clock.now())
        await checkResourceChange(app, by, resource)
        await checkClients(app, resource.policy)
        await checkDetailsTypes(app, resource)
        await checkUri(app, resource)
        checkCreated(await by.record('createResource', resource, { detail: factsOf(resource) }))
        return { shown: await resourceJson(app, resource) }
      },
    }),
    get: action('GET /admin/resources/{id}', {
      doc: 'Shows a resource by its id or slug.',
      answer: answers.resource,
      cli: { flags: bySlug },
      run: async (app, { params }) => ({ shown: await resourceJson(app, await getResource(app, params.id)) }),
    }),
    discover,
    check: action('GET /admin/resources/{id}/check', {
      doc: 'Fetches the metadata that the server of a resource publishes, and shows how it differs from the registration.',
      ...checkedResource,
      cli: { flags: bySlug },
      run: async (app, { params }) => ({ shown: await checkPublished(app, await getResource(app, params.id)) }),
    }),
    update: action('PATCH /admin/resources/{id}', {
      doc: 'Changes the named members of a resource. If tokens of a provider can be obtained with it, a further scope, upstream scope or client, other texts of its scopes, and another name, URI, kind or provider need the capability admin.',
      answer: answers.resource,
      form: resourceForm,
      body: patchable,
      audit: 'resource_updated',
      count: ['ext_resource_server_ops_total', { op: 'update' }],
      cli: {
        flags: { ...bySlug, ...resourceFlags },
        without: ['policy', 'broker_provider_id', 'slug'],
      },
      async run(app, { params, body }, by) {
        const stored = await getResource(app, params.id)
        const patched = resourceFieldsOf(mergeResource(stored, await withProvider(app, body)))
        const fields = changedFields(stored, patched)
        if (fields.length === 0) return { shown: await resourceJson(app, stored) }
        await checkLinks(app, stored, patched)
        const next = { ...stored, ...patched }
        const written = await writeResource(app, stored, next, by, changesOf(stored, next, fields))
        return { shown: await resourceJson(app, written) }
      },
    }),
    delete: removeResource,
    restore: resourceRestore,
  },
}

/** Applies a patch to a stored resource and checks the result as a whole. Throws invalid_request. */
function mergeResource(stored: Resource, patch: z.output<typeof patchable>): z.output<typeof resourceRecord> {
  const written = Object.fromEntries(Object.keys(resourceFields).map((name) => [name, Reflect.get(stored, name)]))
  const display_name = stored.display_name || undefined
  // A change to a mint resource removes the provider.
  const provider = patch.backend_kind === 'mint' ? { broker_provider_slug: undefined } : {}
  const policy = { ...stored.policy, ...patch.policy }
  return parsed(resourceRecord, { ...written, display_name, ...provider, ...patch, policy })
}
