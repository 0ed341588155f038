// The commands of broker providers, which read config_data from a file.
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { envOf, okHere, runHere } from '../support/cli.ts'
import { tempFile, tempFolder } from '../support/folder.ts'
import { aSlug, oauthConfigData } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
let env: Record<string, string>
beforeAll(async () => {
  service = await startService()
  env = envOf(service)
})
afterAll(() => service.close())

const fileOf = (content: unknown) => tempFile('config.json', content)
const create = (slug: string, file: string) =>
  `admin provider create --slug ${slug} --protocol oauth --display-name Drive --config-data ${file}`.split(' ')

test('config_data is read from a file or from standard input', async () => {
  const [one, two] = [aSlug(), aSlug()]
  const { code, stderr } = await runHere(create(one, fileOf(oauthConfigData())), env)
  expect([code, stderr]).toEqual([0, ''])
  await okHere(create(two, '-'), env, JSON.stringify(oauthConfigData()))
  for (const name of [one, two]) {
    const provider = await service.app.store.findProvider({ name })
    expect(provider).toMatchObject({ slug: name, protocol: 'oauth', config_data: oauthConfigData() })
    const shown = await runHere(['admin', 'provider', 'get', '--id', provider?.id ?? '', '--json'], env)
    expect(JSON.parse(shown.stdout)).toMatchObject({ slug: name, config_data: oauthConfigData() })
  }
  expect((await runHere(['admin', 'provider', 'list'], env)).stdout).toContain(`slug=${one}`)
})

test('update and delete name the provider by id', async () => {
  const slug = aSlug()
  await runHere(create(slug, fileOf(oauthConfigData())), env)
  const { id = '' } = (await service.app.store.findProvider({ name: slug })) ?? {}
  const file = fileOf(oauthConfigData({ response_format: 'form' }))
  const args = ['admin', 'provider', 'update', '--id', id, '--config-data', file]
  expect((await runHere(args, env)).code).toBe(0)
  expect((await service.app.store.findProvider({ name: slug }))?.config_data['response_format']).toBe('form')
  expect((await runHere(['admin', 'provider', 'delete', '--id', id], env)).code).toBe(0)
  expect((await runHere(['admin', 'provider', 'get', '--id', id], env)).code).toBe(3)
})

test.each([
  ['that does not exist', () => path.join(tempFolder(), 'gone.json'), 'cannot be read'],
  ['that is not JSON', () => fileOf('{'), 'must hold a JSON object'],
  ['that is a list', () => fileOf([]), 'must hold a JSON object'],
  ['of more than a mebibyte', () => fileOf(`{"x":"${'x'.repeat(1_048_576)}"}`), 'holds more than 1048576 bytes'],
  ['that never ends', () => '/dev/zero', 'holds more than 1048576 bytes'],
])('a file %s is a usage error', async (_what, make, message) => {
  const { code, stderr } = await runHere(create(aSlug(), make()), env)
  expect(code).toBe(2)
  expect(stderr).toContain(message)
})
