// Agents: what their tokens say about them, who acted before them, and the list of them.
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { metricOf, okAdmin } from '../support/admin.ts'
import { ACCESS_TOKEN, actorOf, addExchanger, aPerson, exchange, type Registered } from '../support/exchange.ts'
import { claimsOf, expectRefused, introspect, machineToken, refresh } from '../support/flow.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, xaaScene } from '../support/xaa.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({
    ...LOOPBACK,
    SERVICE_AGENTS_ENABLE_JWKS_LISTING: 'true',
    SERVICE_TOKEN_EXCHANGE_MAX_CHAIN_DEPTH: '10',
  })
})
afterAll(() => service.close())

const AGENT = { agent: true, agent_description: 'Books travel' }
const issued = (has_chain: boolean) => metricOf(service, `ext_agent_tokens_issued_total{has_chain="${has_chain}"}`)

describe('/.well-known/agents.json', () => {
  interface Listing {
    issuer: string
    agents: { agent_id: string; client_name: string; agent_description?: string; jwks_uri: string }[]
  }
  const list = async (at = service) => {
    const response = await fetch(`${at.issuer}/.well-known/agents.json`)
    return { status: response.status, headers: response.headers, body: (await response.json()) as Listing }
  }

  test('agents.json lists the active agents in order of creation, and the URL of their keys', async () => {
    const described = await addClient(service, AGENT)
    service.advance(1)
    const plain = await addClient(service, { agent: true })
    const { status, headers, body } = await list()
    expect([status, headers.get('content-type'), body.issuer]).toEqual([200, 'application/json', service.issuer])
    const jwks_uri = `${service.issuer}/.well-known/jwks.json`
    expect(body.agents).toEqual([
      {
        agent_id: described.client_id,
        client_name: described.client_name,
        agent_description: 'Books travel',
        jwks_uri,
      },
      { agent_id: plain.client_id, client_name: plain.client_name, jwks_uri },
    ])
    const keys = createRemoteJWKSet(new URL(String(body.agents[0]?.jwks_uri)))
    const { payload } = await jwtVerify(String((await machineToken(service, described)).body['access_token']), keys)
    expect(payload['agent_id']).toBe(described.client_id)
  })

  test('agents.json omits other clients, and suspended agents', async () => {
    const [agent, other] = [await addClient(service, AGENT), await addClient(service)]
    const isListed = async ({ client_id }: Registered) =>
      (await list()).body.agents.some(({ agent_id }) => agent_id === client_id)
    expect([await isListed(agent), await isListed(other)]).toEqual([true, false])
    await okAdmin(service, 'PATCH', `/admin/clients/${agent.client_id}/suspend`)
    expect(await isListed(agent)).toBe(false)
    await okAdmin(service, 'PATCH', `/admin/clients/${agent.client_id}/reactivate`)
    expect(await isListed(agent)).toBe(true)
    await okAdmin(service, 'DELETE', `/admin/clients/${agent.client_id}`)
    expect(await isListed(agent)).toBe(false)
  })

  test('agents.json contains no secret, redirect URI or grant', async () => {
    const agent = await addClient(service, AGENT)
    const text = JSON.stringify((await list()).body)
    for (const secret of [agent.client_secret, agent.secrets?.[0]?.hash ?? '', agent.redirect_uris[0] ?? '', 'grant'])
      expect(text).not.toContain(secret)
  })

  test('agents.json exists only when it is enabled', async () => {
    const off = await startService()
    try {
      expect((await list(off)).status).toBe(404)
    } finally {
      await off.close()
    }
  })
})

describe('agent_id', () => {
  test('agent_id is in the tokens of an agent from every grant, and in no token of other clients', async () => {
    for (const agent of [true, false]) {
      const client = await addExchanger(service, { agent })
      const [person, resource] = [await aPerson(service), await addResource(service)]
      const signedIn = await person.signIn(client, resource)
      const answers = [
        signedIn,
        await refresh(service, client, signedIn.body['refresh_token']),
        await machineToken(service, client),
        await exchange(service, client, { subject_token: signedIn.body['access_token'], resource: resource.uri }),
      ]
      const at = await xaaScene(service, { client: { agent } })
      const asserted = claimsOf(await at.redeem(await at.assertion()))
      expect(asserted['agent_id']).toBe(agent ? at.client.client_id : undefined)
      for (const claims of [...answers.map(claimsOf), asserted]) {
        expect(claims['agent_id']).toBe(agent ? claims['client_id'] : undefined)
        expect(claims).not.toHaveProperty('agent_chain')
        expect(claims).not.toHaveProperty('act')
      }
    }
  })

  test('agent_id states whether the client was an agent when the token was issued', async () => {
    const client = await addClient(service)
    const before = (await machineToken(service, client)).body['access_token']
    const stored = await service.app.store.findClient({ client_id: client.client_id })
    await service.app.store.updateClient({ ...(stored as NonNullable<typeof stored>), is_agent: true })
    const after = (await machineToken(service, client)).body['access_token']
    expect(await introspect(service, client, before)).not.toHaveProperty('agent_id')
    expect(await introspect(service, client, after)).toMatchObject({ active: true, agent_id: client.client_id })
  })

  test('tokens of agents are counted, by whether they have a chain', async () => {
    const before = [await issued(false), await issued(true)]
    await machineToken(service, await addClient(service, AGENT))
    await machineToken(service, await addClient(service))
    expect([await issued(false), await issued(true)]).toEqual([(before[0] ?? 0) + 1, before[1]])
  })
})

describe('agent_chain', () => {
  /** A user, a resource, and clients that may hand the user’s token on from one to the next. */
  async function line(agents: boolean[]) {
    const person = await aPerson(service)
    const clients = await Promise.all(agents.map((agent) => addExchanger(service, { agent })))
    const server = await addClient(service)
    const ids = clients.map(({ client_id }) => client_id)
    const policy = { exchange: { allowed_client_ids: ids }, runtime: { client_ids: [server.client_id] } }
    const resource = await addResource(service, { policy })
    const app = await addExchanger(service)
    const { body } = await person.signIn(app, resource)
    for (const client of clients) await person.consent(client, resource)
    const handOn = async (client: Registered, subject_token: unknown, actor = true) =>
      exchange(service, client, {
        ...{ subject_token, resource: resource.uri },
        ...(actor ? await actorOf(service, client) : {}),
      })
    const introspected = (token: unknown) => introspect(service, server, token)
    return { ...person, app, clients, ids, resource, handOn, introspected, first: body['access_token'] }
  }

  test('agent_chain lists the actors, oldest first; act has the newest actor outermost', async () => {
    const { clients, ids, handOn, introspected, first, user } = await line([true, true, true])
    const before = await issued(true)
    let token = first
    for (const client of clients) token = (await handOn(client, token)).body['access_token']
    const [a, b, c] = ids
    const act = {
      ...{ sub: c, actor_type: 'agent' },
      act: { sub: b, actor_type: 'agent', act: { sub: a, actor_type: 'agent' } },
    }
    const claims = decodeJwt(String(token))
    expect(claims).toMatchObject({ sub: user.id, client_id: c, agent_id: c, act, agent_chain: [a, b, c] })
    expect(await introspected(token)).toMatchObject({
      active: true,
      sub: user.id,
      agent_id: c,
      act,
      agent_chain: [a, b, c],
    })
    expect(await issued(true)).toBe(before + 3)
    const row = await service.app.store.findIssuance({ id: String(claims.jti) })
    expect(row).toMatchObject({ is_agent: true, act })
  })

  test('agent_chain lists only agents: a service is in act, and in the chain of the next agent', async () => {
    const { clients, ids, handOn, first } = await line([false, true])
    const [service_, agent] = clients as [Registered, Registered]
    const middle = await handOn(service_, first)
    expect(claimsOf(middle)).toMatchObject({ act: { sub: ids[0], actor_type: 'service' } })
    expect(claimsOf(middle)).not.toHaveProperty('agent_chain')
    expect(claimsOf(middle)).not.toHaveProperty('agent_id')
    const last = claimsOf(await handOn(agent, middle.body['access_token']))
    expect(last).toMatchObject({ agent_id: ids[1], agent_chain: ids, act: { actor_type: 'agent' } })
  })

  test('an exchange without an actor token keeps the chain unchanged', async () => {
    const { clients, ids, handOn, first } = await line([true, true])
    const [one, two] = clients as [Registered, Registered]
    const delegated = (await handOn(one, first)).body['access_token']
    const claims = claimsOf(await handOn(two, delegated, false))
    expect(claims).toMatchObject({ agent_id: ids[1], act: { sub: ids[0] }, agent_chain: [ids[0]] })
    expect(claimsOf(await handOn(one, first, false))).not.toHaveProperty('act')
  })

  test('agent_chain has at most eight entries, the first and the last seven; act has all of them', async () => {
    const { clients, ids, handOn, first } = await line(Array(10).fill(true))
    let token = first
    const chains: unknown[] = []
    for (const client of clients) {
      token = (await handOn(client, token)).body['access_token']
      chains.push(decodeJwt(String(token))['agent_chain'])
    }
    expect(chains[7]).toEqual(ids.slice(0, 8))
    expect(chains[8]).toEqual([ids[0], ...ids.slice(2, 9)])
    expect(chains[9]).toEqual([ids[0], ...ids.slice(3, 10)])
    const actors: string[] = []
    type Act = { sub: string; act?: Act }
    for (let at = decodeJwt(String(token))['act'] as Act | undefined; at; at = at.act) actors.push(at.sub)
    expect(actors).toEqual([...ids].reverse())
    expectRefused(await handOn(clients[0] as Registered, token), 'invalid_request')
  })

  test('the token of another agent is refused as an actor token', async () => {
    const { clients, handOn, first, resource } = await line([true, true])
    const [one, two] = clients as [Registered, Registered]
    const { actor_token } = await actorOf(service, two)
    const fields = { subject_token: first, actor_token, actor_token_type: ACCESS_TOKEN, resource: resource.uri }
    expectRefused(await exchange(service, one, fields), 'invalid_grant')
    const { body } = await handOn(one, first)
    expect(decodeJwt(String(body['access_token']))['agent_chain']).toEqual([one.client_id])
  })
})
