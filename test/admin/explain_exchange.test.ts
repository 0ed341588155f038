// POST /admin/try/explain for exchanges: fronting links and connections to providers, with the same answer as the exchange itself.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { grants } from '../../src/grants/index.ts'
import { okAdmin } from '../support/admin.ts'
import { addBrokerResource, addProvider, aMember, brokerScene, startBroker } from '../support/broker.ts'
import { addExchanger, aPerson, EXCHANGE, exchange } from '../support/exchange.ts'
import { claimsOf } from '../support/flow.ts'
import { addResource, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startBroker()
})
afterAll(() => service.close())

const ALL = { grant_types: grants.map(({ type }) => type) }
interface Explained {
  ok: boolean
  steps: { rule: string; outcome: string; where: string; change: string }[]
  claims?: Record<string, unknown>
  refusal?: { error: string; reason: string }
}
const explain = (fields: object) =>
  okAdmin<Explained>(service, 'POST', '/admin/try/explain', { grant: EXCHANGE, ...fields })
const stepOf = ({ steps }: Explained, name: string) => steps.find(({ rule }) => rule === name)
const failedIn = ({ steps }: Explained) => steps.find(({ outcome }) => outcome === 'failed')

describe('a fronting link', () => {
  async function scene() {
    const [app, gateway] = [
      await addExchanger(service, { scope: 'gw:use' }, { ...ALL, is_agent: true }),
      await addExchanger(service),
    ]
    const source = await addResource(service, {
      scopes: ['gw:use'],
      policy: { runtime: { client_ids: [gateway.client_id] } },
    })
    const target = await addResource(service, { scopes: ['tool:run', 'tool:secret'] })
    const person = await aPerson(service)
    const subject_token = (await person.signIn(app, source, 'gw:use')).body['access_token']
    const asked = { client_id: app.client_id, user: person.user.id, resource: target.uri, actor: gateway.client_id }
    return {
      ...{ app, gateway, source, target, asked: { ...asked, scope: 'tool:run', source: source.uri } },
      real: (scope = 'tool:run') => exchange(service, gateway, { subject_token, resource: target.uri, scope }),
      link: () =>
        okAdmin(service, 'POST', '/admin/fronting', {
          source: source.slug,
          target: target.slug,
          scope_map: { 'gw:use': ['tool:run'] },
        }),
    }
  }

  test('without a link the answer names both resources and the command that makes one', async () => {
    const { asked, source, target, real } = await scene()
    const answer = await explain(asked)
    expect([answer.ok, (await real()).status]).toEqual([false, 400])
    const step = stepOf(answer, 'fronting_link')
    expect(step?.where).toContain(`no fronting link leads from ${source.slug} to ${target.slug}`)
    expect(step?.change).toContain(`admin fronting create --source ${source.slug} --target ${target.slug}`)
  })

  test('with a link the claims are those of the token, with the gateway and the client as actors, and no consent is asked', async () => {
    const { asked, link, real } = await scene()
    await link()
    const answer = await explain(asked)
    const { jti, ...claims } = claimsOf(await real())
    expect(jti).toBeDefined()
    expect(answer).toMatchObject({ ok: true, claims: { ...claims, iat: expect.any(Number), exp: expect.any(Number) } })
    expect(stepOf(answer, 'consent')?.where).toContain('not asked')
  })

  test('a scope that the link does not map fails at the link', async () => {
    const { asked, link, real } = await scene()
    await link()
    const answer = await explain({ ...asked, scope: 'tool:secret' })
    expect([failedIn(answer)?.rule, answer.refusal?.reason]).toEqual(['fronting_link', 'fronting_scope_unmapped'])
    expect((await real('tool:secret')).body['error']).toBe(answer.refusal?.error)
  })

  test('without a source the answer names the resources whose links lead to the target', async () => {
    const { asked, link, source } = await scene()
    await link()
    const { source: _, ...rest } = asked
    expect(stepOf(await explain(rest), 'fronting_link')?.where).toContain(source.slug)
  })
})

describe('a connection to a provider', () => {
  test('a missing connection is the last rule, and the answer says where the user connects', async () => {
    const { app, gateway, member, resource, provider, vend, connect } = await brokerScene(service)
    const asked = {
      ...{ client_id: app.client_id, actor: gateway.client_id, user: member.user.id },
      ...{ resource: resource.slug, scope: 'files:read' },
    }
    const before = await explain(asked)
    expect([failedIn(before)?.rule, before.refusal?.reason]).toEqual(['connection', 'upstream_connection_missing'])
    expect((await vend()).body['error']).toBe(before.refusal?.error)
    expect(stepOf(before, 'connection')?.change).toContain(`/connect/${provider.slug}?resource=${resource.slug}`)
    await connect()
    const after = await explain(asked)
    expect([after.ok, (await vend()).status]).toEqual([true, 200])
    expect(stepOf(after, 'connection')?.where).toContain('up.read up.write')
  })

  test('a connection without the scopes fails, as the exchange does', async () => {
    const { app, gateway, member, resource, upstream, vend, connect } = await brokerScene(service)
    upstream.granted = 'up.read'
    await connect()
    const asked = { client_id: app.client_id, actor: gateway.client_id, user: member.user.id, resource: resource.slug }
    const answer = await explain({ ...asked, scope: 'files:write' })
    expect([failedIn(answer)?.rule, answer.refusal?.reason]).toEqual(['connection', 'upstream_scope_insufficient'])
    expect((await vend({ scope: 'files:write' })).body['error']).toBe(answer.refusal?.error)
    expect((await explain({ ...asked, scope: 'files:read' })).ok).toBe(true)
  })

  test('a service account needs no connection before, and explain makes none', async () => {
    const config_data = {
      token_url: 'https://up.example.com/t',
      sa_email: 'sa@example.com',
      sa_key_ref: 'CONNECTOR_KEY',
      impersonate: 'account',
    }
    const provider = await addProvider(service, { protocol: 'service_account', config_data })
    const [app, gateway] = [await addExchanger(service), await addExchanger(service)]
    const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
    const resource = await addBrokerResource(service, provider, { policy })
    const member = await aMember(service, app)
    const asked = { client_id: app.client_id, actor: gateway.client_id, user: member.user.id, resource: resource.slug }
    expect(await explain({ ...asked, scope: 'files:read' })).toMatchObject({ ok: true })
    expect(await service.app.store.listBrokerGrants({ user_id: member.user.id })).toEqual([])
  })
})
