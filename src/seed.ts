// What the configuration creates at boot: resources, each once, by slug. What exists stays as operators left it.
import type { App } from './app.ts'
import { newResource } from './oauth/resource_record.ts'

/** Creates the configured resources that do not exist yet. */
export async function seedResources({ config, store, clock, log }: App): Promise<void> {
  for (const record of config.resources.filter((each) => each.backend_kind === 'mint')) {
    if (await store.findResourceByName({ name: record.slug })) continue
    const outcome = await store.createResource(newResource(record, clock.now()))
    if (outcome === 'exists')
      log.warn(
        { slug: record.slug, uri: record.uri },
        'a resource of the configuration has the uri of another one; it was not created',
      )
    else log.info({ slug: record.slug, uri: record.uri }, 'resource created from the configuration')
  }
}
