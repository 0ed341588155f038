// Names that others choose: nothing that they write may run, look like something else, or break the page.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { post } from '../support/flow.ts'
import { anIssuance, aProvider } from '../support/records.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { openAdmin } from './open.ts'

const EVIL = `"><img src=x onerror=document.title='pwned'><script>document.title='pwned'</script>{{7*7}}\u202egnp.exe`
const SEEN = EVIL.replace('\u202e', '')

let service: TestService
/** Every place at which what others wrote is shown. */
let places: Record<string, string>
beforeAll(async () => {
  service = await startService()
  const { store, clock } = service.app
  const client = await addClient(
    service,
    { client_name: EVIL, scope: '' },
    {
      client_id: `c"><script>document.title='pwned'</script>`,
      is_agent: true,
      agent_description: EVIL,
      scope: '<b>x</b>',
    },
  )
  const user = await addUser(service, { name: EVIL, email: `"><svg/onload=document.title='pwned'>@example.com` })
  const resource = await addResource(service)
  await store.updateResource({
    ...resource,
    display_name: EVIL,
    scopes: [{ name: '<b>', description: EVIL, upstream: EVIL }],
    policy: { ...resource.policy, runtime: { client_ids: [EVIL] } },
  })
  await store.createProvider(aProvider({ display_name: EVIL }))
  const idp = await okAdmin<{ id: string }>(service, 'POST', '/admin/idps', {
    issuer: 'https://idp.example.com',
    jwks_uri: 'https://idp.example.com/jwks.json?<script>',
    name: EVIL,
    audience: EVIL,
  })
  await okAdmin(service, 'POST', '/admin/xaa/policies', { idp_id: idp.id, name: EVIL, client_ids: [EVIL] })
  await okAdmin(service, 'POST', '/admin/xaa/subject-mappings', {
    idp_id: idp.id,
    federated_subject: EVIL,
    local_subject: EVIL,
  })
  const issuance = anIssuance({
    id: newId(),
    client_id: client.client_id,
    sub: EVIL,
    resource: EVIL,
    scope: EVIL,
    act: { sub: EVIL },
    issued_at: clock.now(),
    expires_at: clock.now() + 3600,
  })
  await store.recordIssuance(issuance)
  await store.recordAudit({
    id: newId(),
    action: 'client_updated',
    actor_id: EVIL,
    client_id: EVIL,
    ip: '<i>',
    detail: { fields: [EVIL] },
    created_at: clock.now(),
  })
  await post(
    `${service.issuer}/oauth/token`,
    { client_id: EVIL, client_secret: 'x' },
    { grant_type: 'client_credentials' },
  )
  places = {
    clients: 'clients',
    client: `clients/${encodeURIComponent(client.client_id)}`,
    users: 'users',
    user: `users/${user.id}`,
    resources: 'resources',
    resource: `resources/${resource.slug}`,
    providers: 'providers',
    idps: 'idps',
    policies: 'policies',
    mappings: 'mappings',
    issuances: 'issuances',
    issuance: `issuances/${issuance.id}`,
    audit: 'audit',
    connections: 'connections',
  }
})
afterAll(() => service.close())

const PLACES = [
  ...['clients', 'client', 'users', 'user', 'resources', 'resource', 'providers', 'idps', 'policies', 'mappings'],
  ...['issuances', 'issuance', 'audit', 'connections'],
]

describe(`in ${CHROMIUM}`, () => {
  test.for(PLACES)('%s shows markup in names as text and does not execute it', async (name, { reopen }) => {
    const { page, complaints } = await openAdmin(reopen, service, places[name])
    await page
      .locator('td, dd, h1')
      .filter({ hasText: /onerror|onload|<b>/ })
      .first()
      .waitFor()
    expect(await page.locator('img, main script, main svg[onload], main b > script').count()).toBe(0)
    expect(await page.title()).not.toContain('pwned')
    // Not one violation of the policy either: there was nothing to stop.
    expect(complaints).toEqual([])
  })

  test('a name with a right-to-left override does not change the direction of other text', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, places['client'])
    const heading = page.getByRole('heading', { level: 1 })
    await heading.waitFor()
    expect(await heading.locator('bdi').textContent()).toBe(SEEN)
  })

  test.for([
    ['a search', `clients?q=${encodeURIComponent(EVIL)}`, /No matches|onerror/],
    ['an address', encodeURIComponent(EVIL), /Page not found/],
  ] as const)('%s with markup in it shows nothing but text', async ([, place, seen], { reopen }) => {
    const { page, complaints } = await openAdmin(reopen, service, place)
    await page.getByText(seen).first().waitFor()
    expect(await page.title()).not.toContain('pwned')
    expect(complaints).toEqual([])
  })
})
