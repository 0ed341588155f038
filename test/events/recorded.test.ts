// A process may be killed between a change and the record of its event. Here no event can be recorded on its own, which has the same effect:
// the events of these changes must be there all the same, because they are recorded in the transaction of the change.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { STREAM_ACTIONS } from '../../src/events/security_events.ts'
import { WITH_CHANGE } from '../../src/oauth/audit_events.ts'
import { KEY_REVOCATION } from '../../src/store/key_revocations.ts'
import { accountPage, press, userWith } from '../support/account.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { aPerson } from '../support/exchange.ts'
import { authorize, machineToken, post, redeem, refresh } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { anEvent } from '../support/records.ts'
import { addClient, addResource, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'

test('every action from which security events follow is recorded with its change, unless it changes nothing', () => {
  const alone = ['access_refused', 'stream_verification_requested']
  expect([...WITH_CHANGE, ...alone].toSorted()).toEqual(STREAM_ACTIONS.toSorted())
})

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

const STORAGES = {
  SQLite: async () => ({}),
  PostgreSQL: async () => ({
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_DSN: await server.database(),
    SERVICE_SIGNING_KEY_PATH: tempFolder(),
  }),
}

/** Makes every record of an event on its own fail. */
function loseEvents({ app }: TestService): void {
  const { driver } = app.store
  const { call } = driver
  driver.call = (op, ...rest) =>
    op === 'recordAudit' ? Promise.reject(new Error('killed')) : call.call(driver, op, ...rest)
}

describe.each(Object.entries(STORAGES))('on %s', (_name, env) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService(await env())
    loseEvents(service)
  })
  afterAll(() => service.close())

  const send = (method: string, path: string, body?: object) => okAdmin<{ id: string }>(service, method, path, body)
  const clientAt = async (path = '') => `/admin/clients/${(await addClient(service)).client_id}${path}`
  const userAt = async (path = '') => `/admin/users/${(await addUser(service)).id}${path}`
  const tokenOf = async (client: Awaited<ReturnType<typeof addClient>>) =>
    String((await machineToken(service, client)).body['access_token'])
  async function signedIn() {
    const [client, person] = [await addClient(service), await aPerson(service)]
    const authorized = await authorize(service, client, person.user, {}, person.browser)
    return { client, user: person.user, authorized, answer: await redeem(service, client, authorized) }
  }

  const CHANGES: Partial<Record<(typeof WITH_CHANGE)[number] | 'access_refused', () => Promise<unknown>>> = {
    client_suspended: async () => send('PATCH', await clientAt('/suspend')),
    client_deleted: async () => send('DELETE', await clientAt('?force=true')),
    user_disabled: async () => send('PATCH', await userAt('/disable')),
    user_updated: async () => send('PATCH', await userAt(), { password: 'another long password' }),
    user_signed_out: async () => send('DELETE', await userAt('/tokens')),
    user_deleted: async () => send('DELETE', await userAt()),
    tokens_revoked: async () => {
      const client = await addClient(service)
      await tokenOf(client)
      await send('POST', '/admin/revocations', { client_id: client.client_id })
    },
    issuance_revoked: async () => {
      const claims = (await tokenOf(await addClient(service))).split('.')[1] ?? ''
      await send('DELETE', `/admin/issuances/${JSON.parse(Buffer.from(claims, 'base64url').toString()).jti}`)
    },
    token_revoked: async () => {
      const client = await addClient(service)
      await post(`${service.issuer}/oauth/revoke`, client, { token: await tokenOf(client) })
    },
    refresh_token_reused: async () => {
      const { client, answer } = await signedIn()
      await refresh(service, client, answer.body['refresh_token'])
      await refresh(service, client, answer.body['refresh_token'])
    },
    auth_code_reused: async () => {
      const { client, authorized } = await signedIn()
      await redeem(service, client, authorized)
    },
    access_refused: async () => {
      const client = await addClient(service)
      const access = { mode: 'restricted' as const, groups: ['staff'] }
      const resource = await addResource(service, { access })
      const { user, signIn } = await aPerson(service, { operator_groups: ['staff'] })
      const { body } = await signIn(client, resource)
      await send('PATCH', `/admin/users/${user.id}`, { groups: [] })
      await refresh(service, client, body['refresh_token'])
    },
    consent_revoked: async () => {
      const { browser } = await userWith(service, 'Notes')
      expect((await accountPage(service, browser)).text).toContain('Notes')
      await press(service, browser, 'name="resource_id"')
    },
    user_password_changed: async () => {
      const { browser } = await userWith(service)
      const again = 'another long password'
      const values = { current_password: PASSWORD, new_password: again, new_password_again: again }
      await press(service, browser, 'current_password', values)
    },
    stream_updated: async () => {
      const { client_id } = await addClient(service)
      await addResource(service, { policy: { runtime: { client_ids: [client_id] } } })
      const { stream_id } = await okAdmin<{ stream_id: string }>(service, 'POST', '/admin/streams', { client_id })
      await send('PATCH', `/admin/streams/${stream_id}`, { status: 'paused' })
    },
    key_revoked: async () => {
      const { keys } = await okAdmin<{ keys: { kid: string; status: string }[] }>(service, 'GET', '/admin/keys')
      await send('POST', `/admin/keys/${keys.find(({ status }) => status === 'next')?.kid}/revoke`, {})
    },
  }

  test.each(Object.entries(CHANGES))('the event %s is recorded with its change', async (action, change) => {
    const count = async () => (await eventsOf(service, action)).length
    const before = await count()
    await change()
    expect((await count()) - before).toBe(1)
  })
})

test('the event of a signing key that a killed process removed is recorded by the sender of events', async () => {
  const service = await startService(RECEIVERS_ALLOWED)
  const { store, clock, keyring } = service.app
  const note = async (kid: string) => {
    const event = anEvent({ action: 'key_revoked', detail: { kid } })
    await store.saveSetting({ name: KEY_REVOCATION, value: JSON.stringify({ kid, event }), now: clock.now() })
    return event.id
  }
  const receiver = await TestReceiver.start()
  await okAdmin(service, 'POST', '/admin/webhooks', { url: receiver.url, events: ['client_suspended', 'key_revoked'] })
  await note(keyring.current().kid)
  const { client_id } = await addClient(service)
  await okAdmin(service, 'PATCH', `/admin/clients/${client_id}/suspend`)
  await receiver.arrived(1)
  const removed = await note('removed')
  await receiver.arrived(2)
  expect(receiver.accepted.map(({ data }) => data)).toMatchObject([
    { action: 'client_suspended' },
    { id: removed, detail: { kid: 'removed', current_kid: keyring.current().kid } },
  ])
  expect(await store.findSetting({ name: KEY_REVOCATION })).toBeUndefined()
  await service.close()
})
