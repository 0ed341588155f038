// A stream with every type of security event.
import { STREAM_EVENTS } from '../../src/events/event_types.ts'
import { okAdmin } from './admin.ts'
import { machineToken, post } from './flow.ts'
import { basic } from './fronts.ts'
import { anIssuance } from './records.ts'
import { addClient, addResource, addUser, type TestService } from './service.ts'

type Server = Awaited<ReturnType<typeof addClient>>

/** Makes every change that is an event for a resource server. Returns its client, its stream and the security event tokens by jti. */
export async function everySecurityEvent(service: TestService) {
  const server = await addClient(service)
  const policy = { runtime: { client_ids: [server.client_id] } }
  const { uri } = await addResource(service, { token_claims: ['groups'], policy })
  const send = async (path: string, body: object): Promise<unknown> => {
    const headers = { ...basic(server), 'content-type': 'application/json' }
    return (await fetch(service.issuer + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  }
  const stream = (await send('/ssf/streams', { events_requested: [...STREAM_EVENTS] })) as { stream_id: string }
  await makeEvents(service, stream.stream_id, server, uri)
  const polled = await send(`/ssf/poll/${stream.stream_id}`, { returnImmediately: true })
  return { server, stream, sets: (polled as { sets: Record<string, string> }).sets }
}

async function makeEvents(service: TestService, stream_id: string, server: Server, resource: string) {
  const send = (method: string, path: string, body?: object) => okAdmin(service, method, path, body)
  const now = service.app.clock.now()
  const issue = (sub: string) =>
    service.app.store.recordIssuance(anIssuance({ sub, resource, issued_at: now, expires_at: now + 600 }))
  const [changed, disabled, deleted] = [await addUser(service), await addUser(service), await addUser(service)]
  for (const { id } of [changed, disabled, deleted]) await issue(id)
  await send('PATCH', `/admin/users/${changed.id}`, { groups: ['staff'] })
  await send('PATCH', `/admin/users/${changed.id}`, { password: 'another long password' })
  await send('DELETE', `/admin/users/${changed.id}/tokens`)
  for (const what of ['disable', 'enable']) await send('PATCH', `/admin/users/${disabled.id}/${what}`)
  await send('DELETE', `/admin/users/${deleted.id}`)
  const client = await addClient(service)
  const { body } = await machineToken(service, client, { resource, scope: 'mcp:read' })
  await post(`${service.issuer}/oauth/revoke`, client, { token: String(body['access_token']) })
  const { client_id } = client
  await machineToken(service, client, { resource, scope: 'mcp:read' })
  await send('POST', '/admin/revocations', { client_id, resource, until: '2999-01-01T00:00:00Z' })
  await send('PATCH', `/admin/clients/${client_id}/suspend`)
  const { keys } = await okAdmin<{ keys: { kid: string; status: string }[] }>(service, 'GET', '/admin/keys')
  await send('POST', `/admin/keys/${keys.find(({ status }) => status === 'next')?.kid}/revoke`, {})
  await send('POST', `/admin/streams/${stream_id}/verify`, { state: 'a state' })
  const headers = { ...basic(server), 'content-type': 'application/json' }
  await fetch(`${service.issuer}/ssf/verify`, { method: 'POST', headers, body: JSON.stringify({ stream_id }) })
  for (const status of ['paused', 'enabled']) await send('PATCH', `/admin/streams/${stream_id}`, { status })
}
