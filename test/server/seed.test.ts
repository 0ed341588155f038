// What the configuration creates at boot: providers before the resources that name them, each once.
import { afterAll, expect, test } from 'vitest'
import { seed } from '../../src/server/seed.ts'
import { tempFile } from '../support/folder.ts'
import { oauthConfigData } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

const opened: TestService[] = []
afterAll(() => Promise.all(opened.map((each) => each.close())))

const PROVIDER = { slug: 'drive', display_name: 'Drive', protocol: 'oauth', config_data: oauthConfigData() }
const BROKER = { slug: 'drive-api', backend_kind: 'broker', broker_provider_slug: 'drive', scopes: [{ name: 'read' }] }
const MINT = { slug: 'files', backend_kind: 'mint', uri: 'https://files.example.com' }
const started = async (config: object) => {
  const service = await startService({}, tempFile('service.yaml', config))
  opened.push(service)
  await seed(service.app)
  return service.app
}

test('seeding creates providers, and resources of both kinds', async () => {
  const { store } = await started({ broker_providers: [PROVIDER], resources: [BROKER, MINT] })
  expect(await store.findProvider({ name: 'drive' })).toMatchObject(PROVIDER)
  for (const resource of [BROKER, MINT])
    expect(await store.findResourceByName({ name: resource.slug })).toMatchObject({
      slug: resource.slug,
      backend_kind: resource.backend_kind,
    })
})

test('seeding leaves existing records as operators changed them, and writes no audit event', async () => {
  const app = await started({ broker_providers: [PROVIDER], resources: [BROKER] })
  const provider = await app.store.findProvider({ name: 'drive' })
  if (!provider) throw new Error('it was not created')
  await app.store.updateProvider({ ...provider, display_name: 'Renamed' })
  await seed(app)
  expect((await app.store.listProviders()).map(({ display_name }) => display_name)).toEqual(['Renamed'])
  expect((await app.store.listResources({ limit: 10, offset: 0 })).length).toBe(1)
  const events = await app.store.listAudit({ since: '', limit: 10, offset: 0 })
  expect(events).toEqual([])
})
