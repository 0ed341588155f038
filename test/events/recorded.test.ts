// A process may be killed between a change and the record of its event. Here no event can be recorded on its own, which has the same effect:
// the events of all changes must be there all the same, because they are recorded in the transaction of the change.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Action } from '../../src/admin/action.ts'
import { adminResources } from '../../src/admin/index.ts'
import { perform } from '../../src/admin/perform.ts'
import { recordUnfinished } from '../../src/events/key_revocation.ts'
import { STREAM_ACTIONS } from '../../src/events/security_events.ts'
import { newId } from '../../src/lib/id.ts'
import { AUDIT_ACTIONS } from '../../src/oauth/audit_events.ts'
import { isLone } from '../../src/oauth/lone_events.ts'
import { recordExpired } from '../../src/oauth/sign_in/approval.ts'
import { KEY_REVOCATION } from '../../src/store/tokens/key_revocations.ts'
import { accountPage, browserOf, press, userWith } from '../support/account.ts'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { APPROVALS, approvalScene, decideOn } from '../support/approvals.ts'
import { Browser } from '../support/browser.ts'
import { DocumentServer, LOCAL_DOCUMENTS } from '../support/documents.ts'
import { aPerson } from '../support/exchange.ts'
import { addApp, personAt, pressFactor, signInWith, withApp } from '../support/factors.ts'
import { authorize, authorizeUrl, machineToken, post, redeem, refresh, register, walk } from '../support/flow.ts'
import { signed } from '../support/idp.ts'
import { CLIENT_ID, type FakeProvider, openFederation, signInAt } from '../support/openid_fake.ts'
import { inputFor } from '../support/operations.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { anEvent } from '../support/records.ts'
import {
  addClient,
  addResource,
  addUser,
  PASSWORD,
  SEALED,
  startService,
  type TestService,
} from '../support/service.ts'
import { storages } from '../support/storages.ts'

/** The operations of the admin API that change records, by operationId. */
const OPERATIONS = adminResources.flatMap(({ name, actions }) =>
  Object.entries(actions).flatMap(([word, action]): [string, Action][] =>
    action.audit && !isLone(action.audit) ? [[`${name.replaceAll(' ', '.')}.${word}`, action]] : [],
  ),
)

test('every action from which security events follow is recorded with its change, unless it changes nothing', () => {
  const alone = ['access_refused', 'stream_verification_requested']
  expect(STREAM_ACTIONS.filter(isLone).toSorted()).toEqual(alone)
})

/** Makes every record of an event on its own fail. */
function loseEvents({ app }: TestService): void {
  const { driver } = app.store
  const { call } = driver
  driver.call = (op, ...rest) =>
    op === 'recordAudit' ? Promise.reject(new Error('killed')) : call.call(driver, op, ...rest)
}

describe.each(storages())('on %s', (_name, env) => {
  let service: TestService
  let fake: FakeProvider
  let documents: DocumentServer
  beforeAll(async () => {
    const { SERVICE_DCR_MODE: _, ...local } = LOCAL_DOCUMENTS
    documents = await DocumentServer.start()
    ;({ service, fake } = await openFederation({
      ...(await env()),
      ...local,
      ...SEALED,
      SERVICE_OIDC_SHOW_LOCAL_LOGIN: 'true',
      SERVICE_SCIM_ENABLED: 'true',
      ...APPROVALS,
    }))
    loseEvents(service)
  })
  afterAll(async () => {
    documents.close()
    await service.close()
  })

  /** Fails unless `change` records one event. */
  async function expectEvent(action: string, change: () => Promise<unknown>) {
    const count = async () => (await eventsOf(service, action)).length
    const before = await count()
    await change()
    expect((await count()) - before).toBe(1)
  }

  test.each(OPERATIONS)('the event of the operation %s is recorded with its change', async (operationId, action) => {
    const { params = {}, query = {}, body } = await inputFor(operationId, service)
    const input = { params, query: action.query ? query : {}, ...(action.body ? { body } : {}) }
    const operator = { actor_id: 'admin', capability: 'admin', ip: '' } as const
    await expectEvent(action.audit ?? '', () => perform(service.app, action, input, operator))
  })

  const send = (method: string, path: string, body?: object) => okAdmin<{ id: string }>(service, method, path, body)
  const tokenOf = async (client: Awaited<ReturnType<typeof addClient>>) =>
    String((await machineToken(service, client)).body['access_token'])
  async function signedIn() {
    const [client, person] = [await addClient(service), await aPerson(service)]
    const authorized = await authorize(service, client, person.user, {}, person.browser)
    return { client, user: person.user, authorized, answer: await redeem(service, client, authorized) }
  }
  async function decide(decision: 'allow' | 'deny') {
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const url = authorizeUrl(service, { client_id: client.client_id, resource: resource.uri })
    await walk(service, url, user, new Browser(), decision)
  }
  /** A new person at the provider, signed in. */
  const arrive = () => {
    fake.person = { sub: `up-${newId()}`, email: `${newId()}@example.com`, email_verified: true }
    return signInAt(service, fake)
  }

  /** Changes a group as a provider does. Returns its id. */
  async function atGroups(method: string, path = '', body?: object): Promise<string> {
    const wanted = { name: `scim-${newId()}`, capability: 'scim', provider: 'default' }
    const { key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', wanted)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/scim+json' }
    const answer = await fetch(`${service.issuer}/scim/v2/Groups${path}`, {
      method,
      headers,
      body: JSON.stringify(body),
    })
    expect(answer.ok).toBe(true)
    return answer.status === 201 ? ((await answer.json()) as { id: string }).id : ''
  }
  const newGroup = () => atGroups('POST', '', { displayName: newId() })

  /** What users, clients and providers change, by audit action. */
  const CHANGES: Readonly<Record<string, () => Promise<unknown>>> = {
    token_revoked: async () => {
      const client = await addClient(service)
      await post(`${service.issuer}/oauth/revoke`, client, { token: await tokenOf(client) })
    },
    client_registered: async () => {
      await send('PATCH', '/admin/settings/dcr', { mode: 'open' })
      expect((await register(service)).status).toBe(201)
    },
    client_document_changed: async () => {
      await send('PATCH', '/admin/settings/dcr', { mode: 'open' })
      const [user, path] = [await addUser(service), `/${newId()}`]
      const fresh = { headers: { 'cache-control': 'no-store' } }
      const client_id = documents.publish(path, {}, fresh)
      const { browser } = await authorize(service, { client_id }, user)
      documents.publish(path, { client_name: 'Renamed' }, fresh)
      await browser.open(authorizeUrl(service, { client_id }))
    },
    client_requested: async () => {
      await send('PATCH', '/admin/settings/dcr', { mode: 'open' })
      service.app.config.clients.approval = 'all'
      const user = await addUser(service)
      const { client_id } = (await (await register(service)).json()) as { client_id: string }
      await (await browserOf(service, user.email)).open(authorizeUrl(service, { client_id }))
      service.app.config.clients.approval = 'none'
    },
    approval_requested: async () => (await approvalScene(service)).begin(),
    approval_granted: async () => {
      const { browser, begin } = await approvalScene(service)
      await begin()
      await decideOn(service, browser)
    },
    approval_expired: async () => {
      const { begin } = await approvalScene(service)
      await begin({ requested_expiry: '10' })
      service.advance(10)
      await recordExpired(service.app)
    },
    consent_granted: () => decide('allow'),
    consent_denied: () => decide('deny'),
    user_login: async () => browserOf(service, (await addUser(service)).email),
    user_logout: async () =>
      (await browserOf(service, (await addUser(service)).email)).post(`${service.issuer}/logout`, {}),
    user_oidc_login: arrive,
    user_email_changed: async () => {
      await arrive()
      fake.person = { ...fake.person, email: `${newId()}@example.com` }
      await signInAt(service, fake)
    },
    user_claims_changed: async () => {
      await arrive()
      fake.person = { ...fake.person, groups: ['staff'] }
      await signInAt(service, fake)
    },
    group_created: newGroup,
    group_updated: async () => atGroups('PUT', `/${await newGroup()}`, { displayName: newId() }),
    group_deleted: async () => atGroups('DELETE', `/${await newGroup()}`),
    user_backchannel_logout: async () => {
      await arrive()
      const { issuer, key } = fake.idp
      const iat = service.app.clock.now()
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
      const claims = { iss: issuer, aud: CLIENT_ID, iat, exp: iat + 60, jti: newId(), events, sub: fake.person['sub'] }
      const logout_token = await signed(key, { kid: key.kid, typ: 'logout+jwt' }, claims)
      const body = new URLSearchParams({ logout_token })
      await fetch(`${service.issuer}/oidc/backchannel-logout`, { method: 'POST', body })
    },
    user_password_set: async () => {
      const { url } = await okAdmin<{ url: string }>(
        service,
        'POST',
        `/admin/users/${(await addUser(service)).id}/password-link`,
      )
      const again = 'another long password'
      const form = { token: url.slice(url.lastIndexOf('/') + 1), new_password: again, new_password_again: again }
      await new Browser().post(`${service.issuer}/password`, form)
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
    factor_added: async () => addApp(service, (await personAt(service)).browser),
    factor_removed: async () => {
      const { browser } = await withApp(service)
      await pressFactor(service, browser, 'remove')
    },
    recovery_codes_replaced: async () => {
      const { browser } = await withApp(service)
      await pressFactor(service, browser, 'recovery_codes')
    },
    recovery_code_used: async () => {
      const { email, app } = await withApp(service)
      expect(await signInWith(service, email, app.codes[0])).toBeDefined()
    },
    user_password_changed: async () => {
      const { browser } = await userWith(service)
      const again = 'another long password'
      const values = { current_password: PASSWORD, new_password: again, new_password_again: again }
      await press(service, browser, 'current_password', values)
    },
  }

  test.each(Object.entries(CHANGES))('the event %s is recorded with its change', expectEvent)

  test('every action that changes records is one of these', () => {
    const tested = [...OPERATIONS.map(([, { audit }]) => audit), ...Object.keys(CHANGES)]
    const missing = AUDIT_ACTIONS.filter((action) => !isLone(action) && !tested.includes(action))
    expect(missing).toEqual(['token_issued', 'upstream_token_issued'])
  })
})

/** Stores the note of a revocation that has not ended. Returns the id of its event. */
async function noteOf({ app: { store, clock } }: TestService, kid: string): Promise<string> {
  const event = anEvent({ action: 'key_revoked', detail: { kid }, created_at: clock.now() })
  await store.saveSetting({ name: KEY_REVOCATION, value: JSON.stringify({ kid, event }), now: clock.now() })
  return event.id
}

test('the event of a signing key that a killed process removed is recorded by the sender of events', async () => {
  const service = await startService(RECEIVERS_ALLOWED)
  const { store, keyring } = service.app
  const receiver = await TestReceiver.start()
  await okAdmin(service, 'POST', '/admin/webhooks', { url: receiver.url, events: ['client_suspended', 'key_revoked'] })
  await noteOf(service, keyring.current().kid)
  const { client_id } = await addClient(service)
  await okAdmin(service, 'PATCH', `/admin/clients/${client_id}/suspend`)
  await receiver.arrived(1)
  const removed = await noteOf(service, 'removed')
  await receiver.arrived(2)
  expect(receiver.accepted.map(({ data }) => data)).toMatchObject([
    { action: 'client_suspended' },
    { id: removed, detail: { kid: 'removed', current_kid: keyring.current().kid } },
  ])
  expect(await store.findSetting({ name: KEY_REVOCATION })).toBeUndefined()
  await service.close()
})

test('the event is recorded without a receiver too', async () => {
  const service = await startService()
  await noteOf(service, 'removed')
  await expect.poll(() => eventsOf(service, 'key_revoked')).toMatchObject([{ detail: { kid: 'removed' } }])
  await service.close()
})

test('a revocation whose key is still published after ten minutes has no event', async () => {
  const service = await startService()
  const { store, keyring } = service.app
  const { kid } = keyring.current()
  await noteOf(service, kid)
  service.advance(590)
  await recordUnfinished(service.app)
  expect(await store.findSetting({ name: KEY_REVOCATION })).toBeDefined()
  service.advance(20)
  await recordUnfinished(service.app)
  expect(await store.findSetting({ name: KEY_REVOCATION })).toBeUndefined()
  expect(await eventsOf(service, 'key_revoked')).toEqual([])
  await service.close()
})
