// What an MCP server that is not registered yet publishes: the first step of connecting it.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { resourceUri, scopeName } from '../../lib/field.ts'
import { isHttpUrl } from '../../lib/url.ts'
import { FetchError } from '../../net/error.ts'
import { differences, metadataUrlOf } from '../../oauth/tokens/resource_check.ts'
import { action } from '../action.ts'
import { discovered } from '../answers/connect.ts'
import { fetchFix, fetchForOperator, fetchMetadata } from './resource_check.ts'

type Step = z.output<typeof discovered>['steps'][number]

const COMPARE = 'Compare it with this service'
const MAX_SCOPES = 500

export const discover = action('GET /admin/resource-metadata', {
  doc: 'Reads what an MCP server publishes at its URL, and checks it against this service. Nothing is stored.',
  answer: discovered,
  needs: 'operator',
  query: z.strictObject({
    url: resourceUri().refine(isHttpUrl, 'must be an http or https URL').describe('URL of the MCP endpoint.'),
  }),
  async run(app, { query: { url } }) {
    const registered = await app.store.findResource({ uri: url })
    const { step, named } = await challengeOf(app, url)
    const metadata_url = named ?? metadataUrlOf(url)
    const published = await fetchMetadata(app, metadata_url)
    const read = `GET ${metadata_url}`
    if (!('document' in published)) {
      const failed = { step: read, ok: false, answer: published.message, fix: published.fix }
      return { shown: { steps: [step, failed], metadata_url, scopes: [], slug: registered?.slug } }
    }
    const { document } = published
    const slug = registered?.slug ?? 'SLUG'
    const problems = differences(app.config, { uri: url, slug }, document)
    const steps: Step[] = [
      step,
      { step: read, ok: true, answer: 'the metadata document' },
      ...(problems.length === 0
        ? [{ step: COMPARE, ok: true, answer: 'it names this service and this URL' }]
        : problems.map(({ message, fix }) => ({ step: COMPARE, ok: false, answer: message, fix }))),
    ]
    const { resource } = document
    return {
      shown: {
        steps,
        metadata_url,
        ...(typeof resource === 'string' ? { resource } : {}),
        scopes: scopesIn(document),
        slug: registered?.slug,
      },
    }
  },
})

/** Sends a request without a token, as a client does first. The answer names the metadata. */
async function challengeOf(app: App, url: string): Promise<{ step: Step; named?: string }> {
  const step = `GET ${url} without a token`
  try {
    const { status, headers } = await fetchForOperator(app, url, { headers: { accept: 'text/event-stream' } })
    const [, named] = /resource_metadata="([^"]{1,2048})"/.exec(headers['www-authenticate'] ?? '') ?? []
    const isUsable = named !== undefined && isHttpUrl(named)
    const answer = `${status}${named === undefined ? ', without resource_metadata' : `, resource_metadata="${named}"`}`
    if (status === 401 && isUsable) return { step: { step, ok: true, answer }, named }
    const fix =
      status === 401
        ? 'name the metadata: WWW-Authenticate: Bearer resource_metadata="…"; clients also look at the well-known path'
        : 'answer 401 to every request without a valid token'
    return { step: { step, ok: false, answer, fix } }
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    return { step: { step, ok: false, answer: error.reason, fix: fetchFix(error) } }
  }
}

/** The scopes of the metadata that can be registered here. */
const scopesIn = ({ scopes_supported: given }: Readonly<Record<string, unknown>>): string[] =>
  Array.isArray(given)
    ? [...new Set(given.filter((each) => scopeName().min(1).safeParse(each).success) as string[])].slice(0, MAX_SCOPES)
    : []
