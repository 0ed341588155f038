// Rules of client operations.
import { expect, test } from 'vitest'
import { idFloor, newBearer, newId } from '../../../src/lib/id.ts'
import type { Client, ClientSecret } from '../../../src/records/client.ts'
import { aClient, aFamily, anIssuance, aRequest, issuanceOf, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function clientRules(bench: Bench): void {
  const created = async (more: Partial<Client> = {}) => {
    const client = aClient(more)
    expect(await bench.store.createClient(client)).toBe('created')
    return client
  }
  const find = (client: Client) => bench.store.findClient({ client_id: client.client_id })
  const remove = (client: Client, force = false) =>
    bench.store.deleteClient({ by: 'ada', client_id: client.client_id, force, now: NOW, oldest: idFloor(0) })

  test('a stored client is read back in every field', async () => {
    const plain = await created()
    const full = await created({
      secrets: undefined,
      redirect_uris: ['http://127.0.0.1', 'https://b.example/ä?x=1'],
      response_types: [],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
      scope: '',
      status: 'suspended',
      registration_source: 'dcr',
      is_agent: true,
      agent_description: "it's an agent — 🎉",
      dpop_bound_access_tokens: true,
      default_resource: 'https://files.example.com/mcp',
      operator_set: { scope: 'files:read' },
      token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
      jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'é' }] },
      jwks_uri: 'https://b.example/jwks.json',
      federated_credentials: [{ issuer: 'https://ci.example', subject: 'repo:a/b:*', claims: { ref: 'main' } }],
      limits: { requests_per_second: 0.5, tokens_per_day: 0 },
      version: 7,
    })
    expect(await find(plain)).toEqual(plain)
    expect(await find(full)).toEqual(full)
  })

  test('secrets are read back; the last use of a secret is stored separately, and an update of the client does not overwrite it', async () => {
    const [earlier, current] = [newId(), newId()].map((id) => ({ id, hash: newBearer('cs').hash, created_at: NOW }))
    const client = await created({ secrets: [current, { ...earlier, expires_at: NOW + 60 }] as ClientSecret[] })
    expect(await find(client)).toEqual(client)
    await bench.store.touchSecret({ client_id: client.client_id, id: earlier?.id ?? '', now: NOW + 1 })
    await bench.store.updateClient({ ...client, client_name: 'Renamed' })
    expect((await find(client))?.secrets).toEqual([
      current,
      { ...earlier, expires_at: NOW + 60, last_used_at: NOW + 1 },
    ])
    await bench.store.updateClient({ ...client, version: 2, secrets: [current as ClientSecret] })
    await bench.store.touchSecret({ client_id: client.client_id, id: current?.id ?? '', now: NOW + 2 })
    expect((await find(client))?.secrets).toEqual([{ ...current, last_used_at: NOW + 2 }])
  })

  test('an unknown client is undefined', async () => {
    expect(await bench.store.findClient({ client_id: 'https://nobody.example/client.json' })).toBeUndefined()
  })

  test('a second client with the same id is refused, and the first one stays', async () => {
    const client = await created({ client_name: 'First' })
    expect(await bench.store.createClient({ ...client, client_name: 'Second' })).toBe('exists')
    expect((await find(client))?.client_name).toBe('First')
  })

  test('an id that was looked up before it existed is found afterwards', async () => {
    const client = aClient()
    expect(await find(client)).toBeUndefined()
    await bench.store.createClient(client)
    expect(await find(client)).toEqual(client)
  })

  test('an update is visible at once, and increments the version', async () => {
    const client = await created()
    await find(client)
    const changed = { ...client, client_name: 'New', status: 'suspended' as const, updated_at: NOW + 5 }
    expect(await bench.store.updateClient(changed)).toBe('updated')
    expect(await find(client)).toEqual({ ...changed, version: 2 })
  })

  test('an update that is based on an older version is refused as stale, and changes nothing', async () => {
    const client = await created()
    await bench.store.updateClient({ ...client, client_name: 'One' })
    expect(await bench.store.updateClient({ ...client, client_name: 'Two' })).toBe('stale')
    expect((await find(client))?.client_name).toBe('One')
    expect(await bench.store.updateClient(aClient())).toBe('stale')
  })

  test('an update cannot change the source and the creation time of a client', async () => {
    const client = await created()
    await bench.store.updateClient({ ...client, registration_source: 'dcr', issued_at: NOW + 1 })
    expect(await find(client)).toMatchObject({ registration_source: 'admin', issued_at: NOW })
  })

  test('clients are listed oldest first, page by page, by status and source', async () => {
    const { store, close } = await bench.open()
    const clients = [
      aClient({ client_id: 'b', issued_at: NOW + 1, registration_source: 'dcr' }),
      aClient({ client_id: 'a', issued_at: NOW + 1 }),
      aClient({ client_id: 'c', issued_at: NOW, status: 'suspended' }),
    ]
    for (const client of clients) await store.createClient(client)
    const ids = async (filter: object) =>
      (await store.listClients({ limit: 10, offset: 0, ...filter })).map((client) => client.client_id)
    expect(await ids({})).toEqual(['c', 'a', 'b'])
    expect(await ids({ limit: 1, offset: 1 })).toEqual(['a'])
    expect(await ids({ offset: 3 })).toEqual([])
    expect(await ids({ after: { at: NOW + 1, id: 'a' } })).toEqual(['b'])
    expect(await ids({ after: { at: NOW, id: 'c' }, limit: 1 })).toEqual(['a'])
    expect(await ids({ status: 'active' })).toEqual(['a', 'b'])
    expect(await ids({ status: 'active', source: 'dcr' })).toEqual(['b'])
    expect(await store.countActiveClients()).toBe(2)
    await close()
  })

  test('the fetches of a document are noted beside the version, and failing ones are listed and counted', async () => {
    const { store, close } = await bench.open()
    const client = aClient({
      client_id: 'https://a.example/c.json',
      ...{ registration_source: 'cimd', document_source: 'fetched', document_fetched_at: NOW },
    })
    await store.createClient(client)
    expect(await store.findClient(client)).toEqual(client)
    const { client_id } = client
    await store.noteDocument({ client_id, error: 'status 403 (cimd_status)' })
    const failing = { document_error: 'status 403 (cimd_status)', document_fetched_at: NOW }
    expect(await store.findClient(client)).toEqual({ ...client, ...failing })
    const gone = aClient({ client_id: 'https://0.example/c.json', document_error: 'status 404 (client_document_gone)' })
    await store.createClient(gone)
    await store.createClient(aClient({ client_id: 'c', status: 'suspended', document_error: 'x' }))
    expect(await store.listFailingDocuments({ limit: 10 })).toEqual([
      { client_id, ...failing },
      { client_id: gone.client_id, document_error: gone.document_error },
    ])
    expect((await store.listFailingDocuments({ limit: 1 })).length).toBe(1)
    expect(await store.countStaleDocuments()).toBe(1)
    await store.noteDocument({ client_id, fetched_at: NOW + 5 })
    expect(await store.findClient(client)).toEqual({ ...client, document_fetched_at: NOW + 5 })
    expect(await store.countStaleDocuments()).toBe(0)
    await store.updateClient({ ...client, document_source: 'stored', document_fetched_at: undefined })
    expect(await store.findClient(client)).toMatchObject({ document_source: 'stored', version: 2 })
    await close()
  })

  test('a member that only a newer version knows survives an update', async () => {
    const { store, sql, close } = await bench.open()
    const client = aClient({ backchannel_logout_uri: 'https://a.example/out' })
    await store.createClient(client)
    const { client_id } = client
    const stored = (members: object) => JSON.stringify({ ...members, of_a_newer_version: ['x'] })
    await sql(`UPDATE clients SET openid = '${stored({ id_token_signed_response_alg: 'ES256' })}'`)
    const { backchannel_logout_uri: _, ...changed } = client
    await store.updateClient({ ...changed, kept_document: { client_name: 'Kept' } })
    const found = await store.findClient({ client_id })
    expect(found).toEqual({
      ...changed,
      version: 2,
      kept_document: { client_name: 'Kept' },
      of_a_newer_version: ['x'],
    })
    await close()
  })

  test('returns the ids of existing clients among the given ids', async () => {
    const [one, two] = [await created(), await created()]
    const client_ids = [two.client_id, 'nobody', one.client_id]
    expect(await bench.store.listKnownClients({ client_ids })).toEqual([two.client_id, one.client_id])
  })

  test('a client without tokens is deleted once', async () => {
    const client = await created()
    await find(client)
    expect(await remove(client)).toBe('deleted')
    expect(await find(client)).toBeUndefined()
    expect(await remove(client)).toBeUndefined()
  })

  test('a client with a live token is deleted only with force, which revokes its tokens', async () => {
    const client = await created()
    const token = anIssuance({ client_id: client.client_id, sub: client.client_id })
    await bench.store.recordIssuance(token)
    expect(await remove(client)).toBe('has_tokens')
    expect(await find(client)).toEqual(client)
    expect((await bench.store.findTokenState({ id: token.id }))?.live).toBe(true)
    expect(await remove(client, true)).toBe('deleted')
    expect(await bench.store.findTokenState({ id: token.id })).toMatchObject({
      live: false,
      issuance: { revoked_at: NOW },
    })
  })

  test('a client with a live family is deleted only with force, which revokes its family and its consents', async () => {
    const client = await created()
    const request = aRequest({ client_id: client.client_id })
    await bench.store.createAuthorizationRequest(request)
    const consent = {
      id: newId(),
      user_id: request.user_id,
      client_id: client.client_id,
      resource_id: 'r',
      scope: 'a',
      redirect_hosts: {},
    }
    const code = { code_hash: client.secrets?.[0]?.hash ?? '', code_expires_at: NOW + 60 }
    await bench.store.approveAuthorizationRequest({
      id: request.id,
      session_id: request.session_id,
      scope: 'a',
      ...code,
      consent,
      now: NOW,
    })
    const family = aFamily({
      client_id: client.client_id,
      user_id: request.user_id,
      authorization_id: request.id,
      scope: 'a',
    })
    const issuance = issuanceOf(family, { expires_at: NOW - 1 })
    await bench.store.redeemCode({ family, issuance, now: NOW })
    expect(await remove(client)).toBe('has_tokens')
    expect(await remove(client, true)).toBe('deleted')
    expect((await bench.store.findTokenState({ id: issuance.id }))?.live).toBe(false)
    expect(await bench.store.findConsent(consent)).toBeUndefined()
    expect((await bench.store.listConsents(consent))[0]?.revoked_at).toBe(NOW)
  })

  test('expired and revoked tokens do not prevent the deletion of a client', async () => {
    const client = await created()
    await bench.store.recordIssuance(anIssuance({ client_id: client.client_id, expires_at: NOW }))
    const revoked = anIssuance({ client_id: client.client_id })
    await bench.store.recordIssuance(revoked)
    await bench.store.revokeIssuance({ id: revoked.id, now: NOW })
    expect(await remove(client)).toBe('deleted')
  })

  test('the deletion of a client deletes nothing of another client', async () => {
    const [mine, other] = [await created(), await created()]
    const token = anIssuance({ client_id: other.client_id })
    await bench.store.recordIssuance(token)
    await remove(mine, true)
    expect(await find(other)).toEqual(other)
    expect((await bench.store.findTokenState({ id: token.id }))?.live).toBe(true)
  })

  test('no more clients wait for an approval than may, also when many ask at the same time at two instances', async () => {
    const { store, again, close } = await bench.open()
    const other = await again()
    const client = await created()
    const asks = Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? store : other.store).requestClient({
        request: {
          ...{ id: newId(), client_id: `${client.client_id}-${i}`, client_name: 'Desk', redirect_hosts: [], count: 1 },
          ...{ requested_by: 'u', status: 'waiting', first_at: NOW, last_at: NOW },
        },
        max: 5,
        most_of_person: 5,
      }),
    )
    expect(new Set(await Promise.all(asks))).toEqual(new Set([true]))
    expect(await store.listClientRequests({ status: 'waiting', limit: 100 })).toHaveLength(5)
    await other.close()
    await close()
  })

  test('one person may fill the list of clients that wait, and the clients that other people asked for stay', async () => {
    const { store, close } = await bench.open()
    const ask = (client_id: string, requested_by: string) =>
      store.requestClient({
        request: {
          ...{ id: newId(), client_id, client_name: 'Desk', redirect_hosts: [], count: 1 },
          ...{ requested_by, status: 'waiting', first_at: NOW, last_at: NOW },
        },
        max: 10,
        most_of_person: 3,
      })
    const waiting = async () =>
      (await store.listClientRequests({ status: 'waiting', limit: 100 })).map(({ client_id }) => client_id).reverse()
    const many = Array.from({ length: 11 }, (_, i) => `many-${i}`)
    for (const each of many) await ask(each, 'one')
    expect(await waiting()).toEqual(many.slice(1))
    await ask('ours', 'other')
    for (const each of ['many-11', 'many-12']) await ask(each, 'one')
    expect(await waiting()).toEqual([...many.slice(4), 'ours', 'many-11', 'many-12'])
    await close()
  })
}
