// Admin operations on fronting links: the scopes that a gateway (source) may obtain at a resource behind it (target).
import { z } from 'zod'
import type { App } from '../../context.ts'
import { quoteNames } from '../../lib/bounded.ts'
import { bool, distinct, scopeName, slug } from '../../lib/field.ts'
import { dated } from '../../lib/time.ts'
import { catalogOf } from '../../oauth/tokens/resource.ts'
import type { FrontingLink } from '../../records/fronting_link.ts'
import type { Resource } from '../../records/resource.ts'
import { linkDetail } from '../../store/recorded.ts'
import { type AdminResource, action, type FlagRule, type Recorder } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { frontingForm } from '../forms/resource_form.ts'
import { paging } from '../lists.ts'
import { changedFields, conflict, existing, invalid, notFound } from '../outcome.ts'
import { checkLinkChange } from '../rights.ts'
import { asJson } from './resource_flags.ts'
import { getResource } from './resource_record.ts'

const scope_map = z
  .record(scopeName().min(1, 'must not be empty'), distinct(scopeName().min(1, 'must not be empty'), true))
  .refine((map) => Object.keys(map).length > 0, 'must map a scope')
  .meta({ minProperties: 1 })
  .describe('For each scope of the source, the scopes of the target that it allows.')

/** `read:repo+org,write:repo`, split at the first colon; `gw:read->repo` for names with colons; or JSON. */
const scopeMapFlag: FlagRule = {
  field: 'scope_map',
  doc: 'Scopes of the source with the scopes of the target: read:repo+org,write:repo. For names with colons: gw:read->repo:read, or JSON.',
  value: 'a:b+c,d:e',
  read: (values) => {
    const text = values.join(',')
    return text.startsWith('{') ? asJson(text) : Object.fromEntries(text.split(',').map(entryOf))
  },
}
const entryOf = (entry: string): [string, string[]] => {
  const [name = '', targets = ''] = entry.split(entry.includes('->') ? /->(.*)/ : /:(.*)/)
  return [name.trim(), targets.split('+').flatMap((each) => each.trim() || [])]
}

interface Ends {
  source: string
  target: string
}
const getLink = ({ store }: App, { source, target }: Ends): Promise<FrontingLink> =>
  existing('fronting link', store.findFrontingLink({ source_slug: source, target_slug: target }))

/** Returns the two resources after the checks of a scope map that need no other link. `before` is the map that it replaces. */
async function checkedEnds(
  app: App,
  by: Recorder,
  { source, target }: Ends,
  map: FrontingLink['scope_map'],
  before?: FrontingLink['scope_map'],
): Promise<Resource[]> {
  if (source === target) throw invalid('a resource cannot front itself', 'fronting_self')
  const front = await getResource(app, source)
  const behind = await getResource(app, target)
  if (front.backend_kind !== 'mint') throw invalid('source must be a mint resource', 'fronting_source_kind')
  const check = (end: string, names: readonly string[], resource: Resource) => {
    const unknown = names.filter((name) => !catalogOf(resource).includes(name))
    if (unknown.length > 0)
      throw invalid(`scope_map names scopes that the ${end} does not declare: ${quoteNames(unknown)}`, 'fronting_scope')
  }
  check('source', Object.keys(map), front)
  check('target', Object.values(map).flat(), behind)
  checkLinkChange(by, behind, map, before)
  return [front, behind]
}

export const frontingLinks: AdminResource = {
  name: 'fronting',
  doc: 'Fronting links. With a link, a gateway obtains tokens for a resource behind it without another consent of the user.',
  actions: {
    list: action('GET /admin/fronting', {
      doc: 'Lists fronting links, oldest first.',
      answer: z.array(answers.link),
      query: z.strictObject({
        source: slug().optional().describe('Only links of this gateway.'),
        target: slug().optional().describe('Only links to this resource.'),
        ...paging(500, 100),
      }),
      run: async ({ store }, { query: { source, target, ...page } }) => ({
        shown: (await store.listFrontingLinks({ source_slug: source, target_slug: target, ...page })).map(dated),
      }),
    }),
    create: action('POST /admin/fronting', {
      doc: 'Creates a fronting link. The scopes must exist, and the links must not form a cycle. A link to a broker resource needs the capability admin.',
      answer: answers.link,
      status: 201,
      dryRun: true,
      query: z.strictObject({ dry_run: bool().prefault(false).describe('Only check the input, and create nothing.') }),
      form: frontingForm,
      body: z.strictObject({
        source: slug().describe('The gateway: a mint resource.'),
        target: slug().describe('The resource behind the gateway.'),
        scope_map,
      }),
      audit: 'fronting_link_created',
      cli: { flags: { 'scope-map': scopeMapFlag } },
      async run(app, { query: { dry_run }, body: { scope_map, ...ends } }, by) {
        const now = app.clock.now()
        const slugs = { source_slug: ends.source, target_slug: ends.target }
        const link = { ...slugs, scope_map, created_by: by.actor_id, created_at: now, updated_at: now }
        const write = { link, ends: await checkedEnds(app, by, ends, scope_map), dry_run }
        const outcome = await (dry_run
          ? app.store.createFrontingLink(write)
          : by.record('createFrontingLink', write, { detail: linkDetail(link) }))
        if (outcome === 'exists') throw conflict('a fronting link between them exists already', 'fronting_exists')
        if (outcome === 'cycle') throw invalid('the target leads back to the source', 'fronting_cycle')
        return { shown: dated(link), ...(dry_run ? { dry: true } : {}) }
      },
    }),
    get: action('GET /admin/fronting/{source}/{target}', {
      doc: 'Shows a fronting link.',
      answer: answers.link,
      run: async (app, { params }) => ({ shown: dated(await getLink(app, params)) }),
    }),
    update: action('PATCH /admin/fronting/{source}/{target}', {
      doc: 'Replaces the scope map of a fronting link. To reach further scopes of a broker resource needs the capability admin.',
      answer: answers.link,
      form: frontingForm,
      body: z.strictObject({ scope_map: scope_map.optional() }),
      audit: 'fronting_link_updated',
      cli: { flags: { 'scope-map': scopeMapFlag } },
      async run(app, { params, body }, by) {
        const link = await getLink(app, params)
        if (changedFields(link, body).length === 0) return { shown: dated(link) }
        const next = { ...link, ...body, updated_at: app.clock.now() }
        const ends = await checkedEnds(app, by, params, next.scope_map, link.scope_map)
        const outcome = await by.record('updateFrontingLink', { link: next, ends }, { detail: linkDetail(next) })
        if (!outcome) throw notFound('fronting link')
        return { shown: dated(next) }
      },
    }),
    delete: action('DELETE /admin/fronting/{source}/{target}', {
      doc: 'Deletes a fronting link. No new tokens are issued through it. Issued tokens stay valid until they expire.',
      audit: 'fronting_link_deleted',
      async run(_app, { params: { source, target } }, by) {
        const ends = { source_slug: source, target_slug: target }
        if (!(await by.record('deleteFrontingLink', ends, { detail: {} }))) throw notFound('fronting link')
      },
    }),
    ofResource: action('GET /admin/resources/{slug}/fronting', {
      doc: 'Shows the fronting links of a resource: those to others (fronts) and those to it (fronted_by).',
      answer: answers.linksOfResource,
      async run(app, { params }) {
        const { slug } = await getResource(app, params.slug)
        const links = await app.store.listFrontingLinks({ slug })
        return {
          shown: {
            slug,
            fronts: links.filter(({ source_slug }) => source_slug === slug).map(dated),
            fronted_by: links.filter(({ target_slug }) => target_slug === slug).map(dated),
          },
        }
      },
    }),
  },
}
