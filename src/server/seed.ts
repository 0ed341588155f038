// Creates the providers and resources of the configuration at start, each once, identified by slug. Existing ones are not changed.

import { newProvider } from '../broker/provider.ts'
import type { App } from '../context.ts'
import { newResource } from '../oauth/tokens/resource_record.ts'

/** Creates the configured providers and resources that do not exist yet. */
export async function seed(app: App): Promise<void> {
  await seedProviders(app)
  await seedResources(app)
}

async function seedProviders({ config, store, clock, log }: App): Promise<void> {
  for (const record of config.broker_providers) {
    if (await store.findProvider({ name: record.slug })) continue
    if ((await store.createProvider(newProvider(record, clock.now()))) === 'created')
      log.info({ slug: record.slug, protocol: record.protocol }, 'broker provider created from the configuration')
  }
}

async function seedResources({ config, store, clock, log }: App): Promise<void> {
  for (const record of config.resources) {
    if (await store.findResourceByName({ name: record.slug })) continue
    const outcome = await store.createResource(newResource(record, clock.now()))
    if (outcome === 'created')
      log.info({ slug: record.slug, uri: record.uri }, 'resource created from the configuration')
    else
      log.warn(
        { slug: record.slug, uri: record.uri, outcome },
        'a resource of the configuration was not created: another resource has its uri, or its provider does not exist',
      )
  }
}
