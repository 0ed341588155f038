// How long it takes to create people by single requests, and to change a group of all of them. With SERVICE_SCIM_PEOPLE=10000 it measures what docs/guides/scim.md states.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { federating } from '../support/openid_fake.ts'
import { type ScimClient, scimClient } from '../support/scim.ts'
import { startService, type TestService } from '../support/service.ts'
import { storages } from '../support/storages.ts'

const PEOPLE = Number(process.env['SERVICE_SCIM_PEOPLE'] ?? 200)
/** Requests at the same time. */
const AT_ONCE = 8

describe.each(storages())('on %s', (storage, env) => {
  let service: TestService
  let okta: ScimClient
  beforeAll(async () => {
    service = await startService(federating('http://localhost:9', { ...(await env()), SERVICE_SCIM_ENABLED: 'true' }))
    okta = await scimClient(service)
  })
  afterAll(() => service.close())

  test(`${PEOPLE} people are created, and are members of a group with one PATCH`, { timeout: 180_000 }, async () => {
    const shown: string[] = []
    const timed = async (what: string, work: () => Promise<unknown>) => {
      const began = performance.now()
      await work()
      const seconds = (performance.now() - began) / 1000
      shown.push(`${what} ${seconds.toFixed(2)} s`)
      return seconds
    }
    const members: { value: string }[] = []
    const people = async () => {
      while (members.length < PEOPLE) {
        const place = members.push({ value: '' }) - 1
        const userName = `${newId()}@example.com`
        const emails = [{ value: userName, type: 'work', primary: true }]
        const name = { givenName: 'Ada', familyName: 'Lovelace' }
        members[place] = { value: await okta.add({ userName, externalId: newId(), active: true, name, emails }) }
      }
    }
    const seconds = await timed('created in', () => Promise.all(Array.from({ length: AT_ONCE }, people)))
    const { body } = await okta.send('POST', '/Groups', { displayName: 'all' })
    const at = `/Groups/${body['id']}`
    const patch = async (operation: object) => expect((await okta.patch(at, operation)).status).toBe(204)
    await timed('added to a group in', () => patch({ op: 'add', path: 'members', value: members }))
    expect((await okta.send('GET', at)).body['members']).toHaveLength(PEOPLE)
    await timed('group renamed in', () => patch({ op: 'replace', path: 'displayName', value: 'everybody' }))
    await timed('removed in', () => patch({ op: 'remove', path: 'members', value: members }))
    expect((await okta.send('GET', at)).body['members']).toEqual([])
    console.log(`${storage}: ${PEOPLE} people, ${Math.round(PEOPLE / seconds)} a second: ${shown.join(', ')}`)
  })
})
