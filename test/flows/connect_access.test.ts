// A user who may not use a broker resource is refused before the provider is asked.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ResourceAccess } from '../../src/records/resource.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { brokerScene, RETURN, startBroker } from '../support/broker.ts'
import { fieldsOf } from '../support/browser.ts'
import type { TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startBroker()
})
afterAll(() => service.close())

const JSON_ONLY = { headers: { accept: 'application/json' } }

describe('a user who may not use the resource', () => {
  const access: ResourceAccess = { mode: 'restricted', groups: ['staff'], users: [], email_domains: [] }
  const refusedScene = async () => {
    const scene = await brokerScene(service, { resource: { access } })
    return { ...scene, url: scene.member.startUrl(scene.provider.slug, { resource: scene.resource.slug }) }
  }
  const HTML = { headers: { accept: 'text/html', 'sec-fetch-dest': 'document' } }

  test('sees the page of refused users with both ways on, and does not reach the provider', async () => {
    const { url, member, resource, upstream } = await refusedScene()
    const page = await member.browser.open(url, HTML)
    expect([page.status, page.location, upstream.asked.length]).toEqual([403, undefined, 0])
    expect(page.text).toContain(`may not use <bdi>${resource.display_name}</bdi>`)
    expect(page.text).toContain(`${RETURN}?error=access_denied`)
    expect(page.text).toContain('prompt=login')
    const [event] = await eventsOf(service, 'access_refused')
    expect(event?.detail).toEqual({ user_id: member.user.id, resource: resource.uri, rule: 'access' })
  })

  test('is sent back to the application with access_denied without a browser', async () => {
    const { url, member } = await refusedScene()
    expect((await member.browser.open(url, JSON_ONLY)).location).toBe(`${RETURN}?error=access_denied`)
  })

  test('cannot send the form of an earlier page', async () => {
    const scene = await brokerScene(service)
    const { member, provider, resource, upstream } = scene
    const page = await member.browser.open(member.startUrl(provider.slug, { resource: resource.slug }), HTML)
    await okAdmin(service, 'PATCH', `/admin/resources/${resource.id}`, { access })
    const answer = await member.browser.post(`${service.issuer}/connect/${provider.slug}`, fieldsOf(page))
    expect([answer.status, answer.location, upstream.asked.length]).toEqual([403, undefined, 0])
  })

  test('connects after the user joined a group that the resource names', async () => {
    const { url, member, upstream } = await refusedScene()
    await okAdmin(service, 'PATCH', `/admin/users/${member.user.id}`, { groups: ['staff'] })
    expect((await member.browser.open(url)).location).toContain(upstream.url)
  })
})
