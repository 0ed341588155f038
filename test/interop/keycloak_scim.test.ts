// Keycloak as the OpenID provider of the people of SCIM: examples/scim/keycloak.mjs sends them by its events, they sign in there and are the same users, and who is disabled there has nothing here.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { okAdmin } from '../support/admin.ts'
import { authorize, isActive, redeem, refresh } from '../support/flow.ts'
import { federating, isSignedIn, subjectOf } from '../support/openid_fake.ts'
import { type ScimClient, scimClient } from '../support/scim.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { FormBrowser } from './form_browser.ts'
import { type Keycloak, PASSWORD_THERE, startKeycloak } from './keycloak/server.ts'
import { keycloak } from './toolchain.ts'

const toolchain = await keycloak()
const EXAMPLE = path.join(packageRoot, 'examples/scim/keycloak.mjs')

describe.skipIf('missing' in toolchain)('people of Keycloak 26.7', () => {
  let there: Keycloak
  let service: TestService
  let scim: ScimClient
  let stop = () => {}
  let output = ''
  beforeAll(async () => {
    there = await startKeycloak('command' in toolchain ? (toolchain.command[0] ?? '') : '')
    service = await startService(federating(there.issuer, { SERVICE_SCIM_ENABLED: 'true' }))
    scim = await scimClient(service)
    const CLIENT_ID = 'scim-sender'
    const CLIENT_SECRET = await there.addReader(CLIENT_ID)
    await there.addUser({ username: 'early', groups: ['/engineering'] })
    const env = {
      ...process.env,
      REALM: there.issuer,
      ISSUER: service.issuer,
      SCIM_KEY: scim.key,
      CLIENT_ID,
      CLIENT_SECRET,
    }
    const child = spawn(process.execPath, [EXAMPLE], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    stop = () => void child.kill()
    await printed('all people were sent')
  }, 260_000)
  afterAll(async () => {
    stop()
    await service?.close()
    await there?.close()
  })

  const printed = (line: string | RegExp) =>
    vi.waitFor(() => expect(output).toMatch(line), { timeout: 30_000, interval: 50 })
  const personOf = async (id: string) => {
    const { body } = await scim.send('GET', `/Users?filter=${encodeURIComponent(`externalId eq "${id}"`)}`)
    return (body['Resources'] as { id: string; active: boolean; groups: { display: string }[] }[])[0]
  }
  async function signIn({ username }: { username: string }) {
    const browser = new FormBrowser([service.issuer, there.issuer], { username, password: PASSWORD_THERE })
    await browser.travel(`${service.issuer}/oidc/start?redirect=%2F`)
    return browser
  }

  test('who was there before the script is here with the groups of Keycloak, and a group that was left is gone at once', async () => {
    expect(output).toContain('early is active, in engineering')
    const [user] = (await there.admin('GET', '/users?exact=true&username=early')) as { id: string }[]
    expect(await personOf(String(user?.id))).toMatchObject({ active: true, groups: [{ display: 'engineering' }] })
    const [group] = (await there.admin('GET', '/groups?search=engineering')) as { id: string }[]
    await there.admin('DELETE', `/users/${user?.id}/groups/${group?.id}`)
    await printed('early is active, in no group')
    expect(await personOf(String(user?.id))).toMatchObject({ groups: [] })
  })

  test('a person who came over SCIM signs in at Keycloak as the same user, and has no session and no token when disabled there', async () => {
    const user = await there.addUser({ groups: ['/engineering'] })
    await printed(`${user.username} is active, in engineering`)
    const person = await personOf(user.id)
    const browser = await signIn(user)
    expect(await isSignedIn(service, browser)).toBe(true)
    const [client, resource] = [
      await addClient(service),
      await addResource(service, { access: { groups: ['engineering'] } }),
    ]
    const authorized = await authorize(service, client, user, { resource: resource.uri, scope: 'mcp:read' }, browser)
    const { access_token, refresh_token } = (await redeem(service, client, authorized)).body
    expect(subjectOf(access_token)).toBe(person?.id)
    expect(await okAdmin(service, 'GET', `/admin/users/${person?.id}`)).toMatchObject({
      provider_sub: user.id,
      email: user.email,
      email_verified: true,
      groups: ['engineering'],
    })
    await there.admin('PUT', `/users/${user.id}`, { enabled: false })
    await printed(`${user.username} is inactive`)
    expect(await isActive(service, client, access_token)).toBe(false)
    expect((await refresh(service, client, refresh_token)).body['error']).toBe('invalid_grant')
    expect(await isSignedIn(service, browser)).toBe(false)
    await there.admin('PUT', `/users/${user.id}`, { enabled: true })
    await printed(new RegExp(`${user.username} is inactive[^]*${user.username} is active`))
    expect(await isSignedIn(service, await signIn(user))).toBe(true)
    expect(await personOf(user.id)).toMatchObject({ id: person?.id, active: true })
  })

  test('a person who is deleted there is deleted here', async () => {
    const user = await there.addUser()
    await printed(`${user.username} is active, in no group`)
    await there.admin('DELETE', `/users/${user.id}`)
    await printed(`${user.id} is deleted`)
    expect(await personOf(user.id)).toBeUndefined()
  })
})
