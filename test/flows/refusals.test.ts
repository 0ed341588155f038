// Every refusal is recorded: a log line with the request_id, and for an inactive token its reason in the client activity.
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { introspect, machineToken } from '../support/flow.ts'
import { recordingLog } from '../support/log.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())
afterEach(() => void vi.restoreAllMocks())

const SECRET = 'a-secret-that-is-not-for-logs-4711'

/** The lines at level info or above from now on. */
function infoLines() {
  const { log, lines } = recordingLog('info')
  vi.spyOn(service.app.log, 'info').mockImplementation(log.info.bind(log))
  return lines
}
const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(service.issuer + path, { method: 'POST', body: new URLSearchParams(form), headers })

describe('a refused request has one log line at info', () => {
  const REFUSED: [string, () => Promise<Response>, string, string | undefined][] = [
    [
      'a wrong secret',
      () =>
        post('/oauth/token', { grant_type: 'client_credentials', client_id: client.client_id, client_secret: SECRET }),
      'wrong_secret',
      'known',
    ],
    [
      'an unknown grant',
      () => post('/oauth/token', { grant_type: 'urn:nothing', client_id: 'x' }),
      'unknown_grant',
      undefined,
    ],
    ['a path that is not there', () => fetch(`${service.issuer}/${SECRET}?code=${SECRET}`), 'not_found', undefined],
    [
      'an admin key that is none',
      () => fetch(`${service.admin}/admin/clients`, { headers: { authorization: `Bearer ${SECRET}` } }),
      '',
      undefined,
    ],
    [
      'a registration that is none',
      () =>
        fetch(`${service.issuer}/oauth/register`, {
          method: 'POST',
          body: JSON.stringify({ client_name: 'x', redirect_uris: ['javascript:alert(1)'] }),
          headers: { 'content-type': 'application/json' },
        }),
      '',
      undefined,
    ],
  ]
  let client: Awaited<ReturnType<typeof addClient>>
  beforeAll(async () => {
    client = await addClient(service, { token_endpoint_auth_method: 'client_secret_post' })
  })

  test.each(REFUSED)('%s', async (_what, ask, reason, named) => {
    const lines = infoLines()
    const answer = await ask()
    const { error, request_id } = (await answer.json()) as { error: string; request_id: string }
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({
      request_id,
      error,
      status: answer.status,
      remote: expect.stringMatching(/127\.0\.0\.1|::1/),
    })
    if (reason) expect(lines[0]?.['reason']).toBe(reason)
    expect(lines[0]?.['reason']).toBeTruthy()
    if (named) expect(lines[0]?.['client_id']).toBe(client.client_id)
    expect(JSON.stringify(lines)).not.toContain(SECRET)
  })

  test('an answered request has no log line', async () => {
    const [lines, resource] = [infoLines(), await addResource(service)]
    const { client_id, client_secret } = client
    const asked = { grant_type: 'client_credentials', client_id, client_secret, resource: resource.uri }
    expect((await post('/oauth/token', asked)).status).toBe(200)
    expect(lines).toEqual([])
  })
})

describe('the reason of active: false is in the activity of the client', () => {
  const trailOf = async ({ client_id }: { client_id: string }) => {
    const [trail] = await okAdmin<{ failing: boolean; steps: Record<string, unknown>[] }[]>(
      service,
      'GET',
      `/admin/connections?client_id=${client_id}`,
    )
    return trail
  }
  const scene = async () => {
    const [owner, server] = [await addClient(service), await addClient(service)]
    const resource = await addResource(service, { policy: { runtime: { client_ids: [server.client_id] } } })
    const issue = async () =>
      String((await machineToken(service, owner, { resource: resource.uri, scope: 'mcp:read' })).body['access_token'])
    return { owner, server, resource, issue }
  }
  type Scene = Awaited<ReturnType<typeof scene>>

  test.each<[string, (scene: Scene) => Promise<string>]>([
    ['token_unknown', async () => 'a-token-of-nobody'],
    ['token_unknown', async ({ issue }) => `${(await issue()).slice(0, -8)}AAAAAAAA`],
    [
      'token_revoked',
      async ({ owner, issue }) => {
        const token = await issue()
        await fetch(`${service.issuer}/oauth/revoke`, {
          method: 'POST',
          body: new URLSearchParams({ token }),
          headers: { authorization: `Basic ${btoa(`${owner.client_id}:${owner.client_secret}`)}` },
        })
        return token
      },
    ],
    [
      'client_not_active',
      async ({ owner, issue }) => {
        const token = await issue()
        await okAdmin(service, 'PATCH', `/admin/clients/${owner.client_id}/suspend`)
        return token
      },
    ],
    [
      'token_expired',
      async ({ issue }) => {
        const token = await issue()
        service.advance(3601)
        return token
      },
    ],
  ])('%s', async (reason, dead) => {
    const all = await scene()
    const token = await dead(all)
    expect(await introspect(service, all.server, token)).toEqual({ active: false })
    const trail = await trailOf(all.server)
    expect(trail?.failing).toBe(false)
    expect(trail?.steps.at(-1)).toMatchObject({ step: 'introspect', status: 200, reason })
  })

  test('not_on_runtime_list', async () => {
    const { server, issue } = await scene()
    const other = await addClient(service)
    const token = await issue()
    expect(await introspect(service, other, token)).toEqual({ active: false })
    expect((await trailOf(other))?.steps.at(-1)).toMatchObject({ step: 'introspect', reason: 'not_on_runtime_list' })
    expect(await introspect(service, server, token)).toMatchObject({ active: true })
    expect((await trailOf(server))?.steps.at(-1)?.['reason']).toBeUndefined()
    expect((await callAdmin(service, 'GET', '/admin/connections?failing=true')).status).toBe(200)
  })
})
