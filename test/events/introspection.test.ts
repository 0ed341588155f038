// Every change after which introspection refuses a token, or leaves out one of its scopes, is a security event that ends the token at
// resource servers with the package. The test makes each change, and derives the table in docs/guides/shared-signals.md.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { RevocationList } from '../../packages/resource-server/src/revocation_list.ts'
import { STREAM_EVENTS } from '../../src/events/event_types.ts'
import { newId } from '../../src/lib/id.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { AUDIT_ACTIONS, type AuditAction } from '../../src/oauth/audit_events.ts'
import { checkToken } from '../../src/oauth/tokens/access_token.ts'
import { okAdmin } from '../support/admin.ts'
import { Browser } from '../support/browser.ts'
import { addExchanger, aPerson, BOTH, exchange } from '../support/exchange.ts'
import { addFactor } from '../support/factors.ts'
import { authorize, machineToken, post, redeem, refresh } from '../support/flow.ts'
import { basic } from '../support/fronts.ts'
import { signed } from '../support/idp.ts'
import { CLIENT_ID, type FakeProvider, openFederation, signInAt } from '../support/openid_fake.ts'
import { addResource, type TestService } from '../support/service.ts'
import { storages } from '../support/storages.ts'

let service: TestService
let fake: FakeProvider

const GROUPS = ['staff', 'writers']
const send = (method: string, at: string, body?: object) => okAdmin<Record<string, never>>(service, method, at, body)

/** A person of the provider, who is signed in. */
async function providerPerson() {
  fake.person = { sub: `up-${newId()}`, email: `${newId()}@example.com`, email_verified: true, groups: GROUPS }
  const browser = new Browser()
  await signInAt(service, fake, browser)
  const [user] = await okAdmin<{ id: string; email: string }[]>(
    service,
    'GET',
    `/admin/users?email=${encodeURIComponent(String(fake.person['email']))}`,
  )
  if (!user) throw new Error('the person has no account')
  return { user, browser }
}

/** Tokens for a resource with rules: of a person, of a machine, and what a gateway exchanged from a token of the person for another resource. */
async function scene(isFederated: boolean) {
  const [app, gateway, server, machine] = [
    await addExchanger(service),
    await addExchanger(service),
    await addExchanger(service),
    await addExchanger(service),
  ]
  const person = isFederated ? await providerPerson() : await aPerson(service, { operator_groups: GROUPS })
  const source = await addResource(service)
  const policy = {
    exchange: { allowed_client_ids: [gateway.client_id, machine.client_id] },
    runtime: { client_ids: [server.client_id] },
  }
  const rules = {
    access: { mode: 'restricted' as const, groups: ['staff'], email_domains: ['none.example'] },
    scope_groups: { 'mcp:write': ['writers'] },
  }
  const target = await addResource(service, { policy, ...rules })
  const wanted = { ...basic(server), 'content-type': 'application/json' }
  const call = async (at: string, body: object) =>
    (
      await fetch(service.issuer + at, { method: 'POST', headers: wanted, body: JSON.stringify(body) })
    ).json() as Promise<Record<string, never>>
  const { stream_id } = await call('/ssf/streams', { events_requested: [...STREAM_EVENTS] })
  const signedIn = async (client: typeof app, uri: string, who = person) => {
    const authorized = await authorize(service, client, who.user, { resource: uri, scope: BOTH }, who.browser)
    return { authorized, body: (await redeem(service, client, authorized)).body }
  }
  const own = await signedIn(app, target.uri)
  const elsewhere = await signedIn(app, source.uri)
  const machined = async (uri: string) =>
    (await machineToken(service, machine, { resource: uri, scope: BOTH })).body['access_token']
  const exchanged = async (client: typeof app, subject_token: unknown, { uri }: { uri: string }) => {
    const { body } = await exchange(service, client, { subject_token, resource: uri, scope: BOTH })
    if (!body['access_token']) throw new Error(JSON.stringify(body))
    return body['access_token']
  }
  const other = await aPerson(service, { operator_groups: GROUPS })
  const control = await signedIn(gateway, target.uri, other)
  const tokens = {
    own: own.body['access_token'],
    exchanged: await exchanged(gateway, elsewhere.body['access_token'], target),
    machine: await machined(target.uri),
    control: control.body['access_token'],
  }
  // Events and tokens of the same seconds are for introspection to decide.
  service.advance(7)
  const poll = () => call(`/ssf/poll/${stream_id}`, { returnImmediately: true })
  return { app, machine, person, source, target, own, elsewhere, tokens, poll }
}
type Scene = Awaited<ReturnType<typeof scene>>

/** The list of a resource server that began an hour ago. */
function listOf(): RevocationList {
  const list = new RevocationList({ longestToken: 86_400 })
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  list.begin()
  vi.useRealTimers()
  return list
}
function verdictOf(list: RevocationList, token: unknown): string {
  const claims = decodeJwt(String(token))
  const { kid = '' } = decodeProtectedHeader(String(token))
  const { sub: subject = '', exp: expiresAt = 0 } = claims
  const clientId = String(claims['client_id'])
  return list.verdict({ token: '', claims, subject, clientId, scopes: [], expiresAt, keyId: kid }).state
}
/** What introspection says about a token: why it is inactive, or its scope. */
async function introspected(token: unknown): Promise<string> {
  const checked = await checkToken(service.app, String(token))
  return typeof checked === 'string' ? checked : `scope ${checked.claims.scope}`
}

const patch = (at: string, body: object) => send('PATCH', at, body)
const signOut = async ({ person }: Scene, how: string) => send('DELETE', `/admin/users/${person.user.id}${how}`)
const setPassword = async ({ person: { user } }: Scene) => {
  const { url } = await okAdmin<{ url: string }>(service, 'POST', `/admin/users/${user.id}/password-link`)
  const again = 'another long password'
  const form = { token: url.slice(url.lastIndexOf('/') + 1), new_password: again, new_password_again: again }
  await new Browser().post(`${service.issuer}/password`, form)
}
const logOutUpstream = async () => {
  const { issuer, key } = fake.idp
  const iat = service.app.clock.now()
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const claims = { iss: issuer, aud: CLIENT_ID, iat, exp: iat + 60, jti: newId(), events, sub: fake.person['sub'] }
  const logout_token = await signed(key, { kid: key.kid, typ: 'logout+jwt' }, claims)
  const body = new URLSearchParams({ logout_token })
  await fetch(`${service.issuer}/oidc/backchannel-logout`, { method: 'POST', body })
}
const signInWith = async (claims: object) => {
  fake.person = { ...fake.person, ...claims }
  await signInAt(service, fake)
}
const resourceOf = ({ target }: Scene) => `/admin/resources/${target.slug}`

interface Case {
  action: AuditAction
  what: string
  change: (at: Scene) => Promise<unknown>
  isFederated?: true
  /** Tokens of other users and clients end too. */
  isBroad?: true
}
const restricted = (groups: string[]) => ({ mode: 'restricted', groups, users: [], email_domains: [] })
const scopesWith = (groups: string[]) => [
  { name: 'mcp:read', description: 'Use mcp:read' },
  { name: 'mcp:write', description: 'Use mcp:write', groups },
]
const CASES: Case[] = [
  {
    action: 'user_claims_changed',
    what: 'a provider group lost at sign-in',
    isFederated: true,
    change: () => signInWith({ groups: ['writers'] }),
  },
  {
    action: 'user_claims_changed',
    what: 'a provider group of a scope lost at sign-in',
    isFederated: true,
    change: () => signInWith({ groups: ['staff'] }),
  },
  {
    action: 'user_backchannel_logout',
    what: 'a logout token of the provider',
    isFederated: true,
    change: logOutUpstream,
  },
  {
    action: 'user_updated',
    what: 'another subject at the provider',
    isFederated: true,
    change: ({ person }) => patch(`/admin/users/${person.user.id}`, { oidc_subject: newId() }),
  },
  {
    action: 'user_updated',
    what: 'a lost group',
    change: ({ person }) => patch(`/admin/users/${person.user.id}`, { groups: ['writers'] }),
  },
  {
    action: 'user_updated',
    what: 'a new password',
    change: ({ person }) => patch(`/admin/users/${person.user.id}`, { password: 'another long password' }),
  },
  { action: 'user_password_set', what: 'a password link', change: setPassword },
  { action: 'user_signed_out', what: 'an operator', change: (at) => signOut(at, '/tokens') },
  {
    action: 'factors_reset',
    what: 'an operator',
    async change({ person }) {
      await addFactor(service, person.user.id)
      await send('POST', `/admin/users/${person.user.id}/reset-factors`)
    },
  },
  {
    action: 'user_disabled',
    what: 'an operator',
    change: ({ person }) => patch(`/admin/users/${person.user.id}/disable`, {}),
  },
  { action: 'user_deleted', what: 'an operator', change: (at) => signOut(at, '?force=true') },
  {
    action: 'resource_updated',
    what: 'a second factor',
    isBroad: true,
    change: (at) => patch(resourceOf(at), { access: { mode: 'everyone', second_factor: true } }),
  },
  {
    action: 'resource_updated',
    what: 'a smaller list of groups',
    isBroad: true,
    change: (at) => patch(resourceOf(at), { access: restricted(['others']) }),
  },
  {
    action: 'resource_updated',
    what: 'groups of a scope',
    isBroad: true,
    change: (at) => patch(resourceOf(at), { scopes: scopesWith(['others']) }),
  },
  {
    action: 'resource_deleted',
    what: 'the resource of the subject token',
    change: ({ source }) => send('DELETE', `/admin/resources/${source.slug}?cascade=true`),
  },
  {
    action: 'client_suspended',
    what: 'the client of a person',
    change: ({ app }) => patch(`/admin/clients/${app.client_id}/suspend`, {}),
  },
  {
    action: 'client_suspended',
    what: 'a machine',
    change: ({ machine }) => patch(`/admin/clients/${machine.client_id}/suspend`, {}),
  },
  {
    action: 'client_deleted',
    what: 'the client of a person',
    change: ({ app }) => send('DELETE', `/admin/clients/${app.client_id}?force=true`),
  },
  {
    action: 'token_revoked',
    what: 'an access token',
    change: ({ app, tokens }) => post(`${service.issuer}/oauth/revoke`, app, { token: String(tokens.own) }),
  },
  {
    action: 'token_revoked',
    what: 'a refresh token',
    change: ({ app, elsewhere }) =>
      post(`${service.issuer}/oauth/revoke`, app, { token: String(elsewhere.body['refresh_token']) }),
  },
  {
    action: 'issuance_revoked',
    what: 'a subject token',
    change: ({ elsewhere }) =>
      send('DELETE', `/admin/issuances/${decodeJwt(String(elsewhere.body['access_token'])).jti}`),
  },
  {
    action: 'refresh_token_reused',
    what: 'a refresh token used twice',
    change: async ({ app, elsewhere }) => {
      for (let i = 0; i < 2; i++) await refresh(service, app, elsewhere.body['refresh_token'])
    },
  },
  {
    action: 'auth_code_reused',
    what: 'a code used twice',
    change: ({ app, elsewhere }) => redeem(service, app, elsewhere.authorized),
  },
  {
    action: 'consent_revoked',
    what: 'the consent of the resource',
    change: async ({ person, target }) => {
      const [consent] = (await service.app.store.listConsents({ user_id: person.user.id })).filter(
        ({ resource_id }) => resource_id === target.id,
      )
      await send('DELETE', `/admin/grants/consent/${consent?.id}`)
    },
  },
  {
    action: 'consent_revoked',
    what: 'the consent of the subject token',
    change: async ({ person, source }) => {
      const [consent] = (await service.app.store.listConsents({ user_id: person.user.id })).filter(
        ({ resource_id }) => resource_id === source.id,
      )
      await send('DELETE', `/admin/grants/consent/${consent?.id}`)
    },
  },
  {
    action: 'access_refused',
    what: 'a refresh after the rules changed',
    change: async ({ app, source, elsewhere }) => {
      await patch(`/admin/resources/${source.slug}`, { access: restricted(['others']) })
      await refresh(service, app, elsewhere.body['refresh_token'])
    },
  },
  {
    action: 'tokens_revoked',
    what: 'of a client',
    change: ({ app }) => send('POST', '/admin/revocations', { client_id: app.client_id }),
  },
  {
    action: 'tokens_revoked',
    what: 'of a user',
    change: ({ person }) => send('POST', '/admin/revocations', { user_id: person.user.id }),
  },
  {
    action: 'tokens_revoked',
    what: 'of another resource',
    change: ({ source }) => send('POST', '/admin/revocations', { resource: source.uri }),
  },
  {
    action: 'tokens_revoked',
    what: 'of an agent',
    change: ({ machine }) => send('POST', '/admin/revocations', { agent: machine.client_id }),
  },
  {
    action: 'key_revoked',
    what: 'the key of the tokens',
    isBroad: true,
    change: ({ tokens }) => send('POST', `/admin/keys/${decodeProtectedHeader(String(tokens.own)).kid}/revoke`, {}),
  },
]

/** What was seen, by audit action: what introspection says, and which events there are. */
const seen = new Map<string, { says: Set<string>; events: Set<string> }>()

describe.each(storages())('on %s', (_name, env) => {
  beforeAll(async () => {
    ;({ service, fake } = await openFederation({
      ...(await env()),
      SERVICE_OIDC_SHOW_LOCAL_LOGIN: 'true',
      SERVICE_OIDC_LOGOUT_ENDS_GRANTS: 'true',
    }))
  })
  afterAll(() => service.close())

  describe.each(CASES)('$action: $what', ({ action, change, isFederated = false, isBroad }) => {
    test('a token that introspection refuses or narrows is refused by a resource server that gets the events', async () => {
      const at = await scene(isFederated)
      const before = await Promise.all(Object.values(at.tokens).map(introspected))
      expect(new Set(before)).toEqual(new Set([`scope ${BOTH}`]))
      await change(at)
      const list = listOf()
      const note = seen.get(action) ?? { says: new Set(), events: new Set() }
      seen.set(action, note)
      const events = async () =>
        Object.values((await at.poll())['sets'] as unknown as Record<string, string>).map(
          (set) => decodeJwt(set) as unknown as Parameters<RevocationList['apply']>[0],
        )
      // On PostgreSQL an event can be read when every older transaction has ended, those of other tests included.
      await expect
        .poll(async () => {
          for (const event of await events()) list.apply(event)
          const refused = Object.values(at.tokens).map(async (token) =>
            (await introspected(token)) === `scope ${BOTH}` ? true : verdictOf(list, token) === 'revoked',
          )
          return (await Promise.all(refused)).every(Boolean)
        })
        .toBe(true)
      for (const event of await events()) {
        for (const [type, { event_timestamp: _, exp: _exp, family: _family, ...claims }] of Object.entries(
          event.events,
        ) as [string, Record<string, unknown>][]) {
          const name = type.slice(type.lastIndexOf('/') + 1)
          note.events.add(
            name === 'token-revoked'
              ? `\`${name}\` (${Object.keys(claims)
                  .map((each) => `\`${each}\``)
                  .join(', ')})`
              : `\`${name}\``,
          )
        }
      }
      let ended = 0
      for (const [name, token] of Object.entries(at.tokens)) {
        const says = await introspected(token)
        const verdict = verdictOf(list, token)
        if (says !== `scope ${BOTH}`) {
          ended++
          note.says.add(says.startsWith('scope') ? 'a smaller scope' : `\`${says}\``)
          expect([name, says, verdict]).toEqual([name, says, 'revoked'])
        } else if (name === 'control' && !isBroad) expect([name, verdict]).toEqual([name, 'valid'])
      }
      expect(ended).toBeGreaterThan(0)
    })
  })
})

/** Recorded changes after which introspection says the same about every token that exists. */
const WITHOUT_EFFECT =
  /^(api_key|approval_|auth_locked|broker_|client_(approved|created|document|reactivated|registered|requested|restored|secret|updated)|consent_(denied|granted)|dcr_mode|fronting_link|group_|idp_|incident_handled|lockout|resource_(created|restored)|stream_|subject_mapping|token_issued|upstream_token|user_(created|enabled|login|logout|oidc_login|password_link|sessions_ended)|users_imported|webhook_|xaa_policy|key_rotated|config_reloaded|data_exported|factor_|recovery_code|admin_ui_|account_throttled|token_(examined|tried)|user_(code_rejected|login_failed|password_change_failed|email_changed|password_changed))|_denied$|_failed$/

test('every audit event is one of these, or changes nothing about tokens', () => {
  const tested = new Set<string>(CASES.map(({ action }) => action))
  expect(AUDIT_ACTIONS.filter((action) => !tested.has(action) && !WITHOUT_EFFECT.test(action))).toEqual([])
})

test('every reason of introspection occurs, apart from those that a resource server sees itself', () => {
  const says = new Set([...seen.values()].flatMap((each) => [...each.says]))
  // `user_not_active` is for tokens without a sign-in; of the others the sign-in ends at the same time. The event is the same.
  const REASONS = ['`access_refused`', '`client_not_active`', '`token_revoked`', 'a smaller scope']
  expect([...says].filter((each) => each !== '`token_unknown`').toSorted()).toEqual(REASONS)
})

test('the table in the guide has what was seen', () => {
  const text = readFileSync(path.join(packageRoot, 'docs/guides/shared-signals.md'), 'utf8')
  const rows = [...seen]
    .toSorted()
    .map(
      ([action, { says, events }]) =>
        `| \`${action}\` | ${[...says].toSorted().join(', ')} | ${[...events].toSorted().join(', ')} |`,
    )
  const written = text
    .split('\n')
    .filter((line) =>
      /^\| `\w+` \| .*(`token_revoked`|`access_refused`|`client_not_active`|`user_not_active`|`token_unknown`|a smaller scope)/.test(
        line,
      ),
    )
  expect(written).toEqual(rows)
})
