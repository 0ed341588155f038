// Every operation of the admin API has a command: each command is run, and its requests are compared with the route table.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Command, Option } from 'commander'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { adminRoutes } from '../../src/admin/rest.ts'
import { commandTree } from '../../src/command_line.ts'
import { tempFile } from '../support/folder.ts'
import { startService, type TestService } from '../support/service.ts'

/** The operations without a command, with the reason. */
const WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  'GET /admin/names': 'the admin page asks for the names of the ids in a list; find shows what an id names',
  'GET /admin/openapi.json': 'it describes the API to programs that use the API',
  'POST /admin/auth/verify': 'the admin page checks a key with it; every command checks its key',
  'POST /admin/try/sign-in': 'it redeems the code that a browser brought back to the admin page',
  'PUT /admin/settings/dcr': 'it does the same as PATCH, which dcr set sends',
}

let service: TestService
let recorder: Server
let requests: string[] = []
beforeAll(async () => {
  service = await startService({ SERVICE_XAA_ENABLED: 'true' })
  recorder = createServer((request, response) => {
    requests.push(`${request.method} ${request.url?.split('?')[0]}`)
    response.setHeader('content-type', 'application/json').end('{}')
  }).listen(0, '127.0.0.1')
  await once(recorder, 'listening')
})
afterAll(async () => {
  recorder.close()
  await service.close()
})

const leavesOf = (command: Command, words: string[]): { words: string[]; command: Command }[] => [
  ...(command.commands.length === 0 || command.options.length > 0 ? [{ words, command }] : []),
  ...command.commands.flatMap((each) => leavesOf(each, [...words, each.name()])),
]
const isRequired = ({ mandatory, description }: Option) =>
  mandatory || /\(required\b/.test(description) || description.includes('Required, or ')
const USER = { email: 'ada@example.com', name: 'Ada' }

/** The flag with a value of the form that its help shows. */
function sampleOf({ long, flags }: Option): string[] {
  const value = /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1]
  if (!long || value === undefined) return [long ?? '']
  return [
    long,
    value === 'file' ? tempFile('sample.json', USER) : value.includes('|') ? (value.split('|')[0] ?? '') : 'x',
  ]
}

/** Whether a request is one of the operation at `route`, which has parameters in braces. */
const isOf = (route: string) => {
  const pattern = new RegExp(`^${route.replace(/[.?+^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}$`)
  return (request: string) => pattern.test(request)
}
const paramsIn = (route: string) => route.split('{').length

test('every operation of the admin API is sent by a command, except those with a reason', async () => {
  const routes = adminRoutes(service.app)
    .map(({ method, path }) => `${method} ${path}`)
    .filter((route) => !/ \/(admin(\/|\/ui.*|\/\{rest\.\.\.\})?)?$/.test(route))
    .sort((a, b) => paramsIn(a) - paramsIn(b))
  const { port } = recorder.address() as AddressInfo
  const env = { SERVICE_ADMIN_ADDRESS: `127.0.0.1:${port}`, SERVICE_ADMIN_API_KEY: 'any-key' }
  const program = await commandTree(env, () => {})
  const admin = program.commands.find((each) => each.name() === 'admin') as Command
  const printed = [process.stdout, process.stderr].map((stream) => vi.spyOn(stream, 'write').mockReturnValue(true))
  const sent = new Set<string>()
  for (const { words, command } of leavesOf(admin, ['admin'])) {
    requests = []
    const args = [...words, ...command.options.filter(isRequired).flatMap(sampleOf)]
    // The recorder's answers are not those of a server, so some commands fail after their request.
    await program.parseAsync(['node', 'service', ...args]).catch(() => {})
    for (const request of requests) {
      const route = routes.find((each) => isOf(each)(request))
      expect(route, `${words.join(' ')} sends ${request}`).toBeDefined()
      sent.add(route ?? '')
    }
  }
  for (const each of printed) each.mockRestore()
  const missing = routes.filter((route) => !sent.has(route))
  expect(missing.sort()).toEqual(Object.keys(WITHOUT_COMMAND).sort())
}, 60_000)
