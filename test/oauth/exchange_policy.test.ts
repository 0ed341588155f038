// The rules of token exchange one by one: who, into what, for which scope, on whose consent.
import { describe, expect, test } from 'vitest'
import type { App } from '../../src/context.ts'
import type { AccessTokenClaims, LiveToken } from '../../src/oauth/tokens/access_token.ts'
import { delegatedTo, EXCHANGE_RULES, type Exchange } from '../../src/oauth/tokens/exchange_policy.ts'
import { decide } from '../../src/oauth/tokens/rule.ts'
import type { Client } from '../../src/records/client.ts'
import type { Consent } from '../../src/records/consent.ts'
import type { Actor } from '../../src/records/issuance.ts'
import type { Resource } from '../../src/records/resource.ts'
import { aClient, anIssuance, aResource } from '../support/records.ts'
import { refusalOf } from '../support/thrown.ts'

const ISSUER = 'https://as.example.com'
const [app, gateway] = [aClient({ client_id: 'app' }), aClient({ client_id: 'gateway' })]

/** A service in which the user allowed some clients some scopes at the target. */
function world(consents: Record<string, string> = {}, config = {}) {
  const token_exchange = { allow_self_exchange: false, max_chain_depth: 5, ...config }
  const asked: unknown[] = []
  const findConsent = async (by: { user_id: string; client_id: string; resource_id: string }) => {
    asked.push(by)
    const scope = consents[by.client_id]
    return scope === undefined ? undefined : ({ id: `consent of ${by.client_id}`, scope } as Consent)
  }
  const parts = {
    config: { server: { issuer: ISSUER }, token_exchange },
    store: { findConsent, findResource: async () => undefined },
  }
  return { app: parts as unknown as App, asked }
}

const subjectOf = (client: Client, more: Partial<AccessTokenClaims> = {}): LiveToken => ({
  claims: {
    iss: ISSUER,
    sub: 'u_alice',
    aud: ['https://source.example.com'],
    exp: 2,
    iat: 1,
    jti: 'jti',
    client_id: client.client_id,
    scope: 'read write',
    ...more,
  },
  issuance: anIssuance(),
  exchanges: 0,
})

const scopes = (...names: string[]) => names.map((name) => ({ name, description: '', upstream: '' }))
const policy = (exchange: string[], runtime: string[]) => ({
  exchange: { allowed_client_ids: exchange },
  runtime: { client_ids: runtime },
  connect: { allowed_return_urls: [] },
})
const target = (more: Partial<Resource> = {}) =>
  aResource({
    slug: 'target',
    uri: 'https://target.example.com',
    scopes: scopes('read', 'write', 'admin'),
    policy: policy(['gateway'], []),
    ...more,
  })
const ALL = { app: 'read write admin' }

interface Given {
  caller: Client
  subject: LiveToken
  scope?: string | undefined
}
/** Asks the rules of an exchange: without a target all of them, otherwise those after the target and its links were found. */
async function allow(service: App, { caller, subject, scope }: Given, resource?: Resource) {
  const facts: Exchange = {
    ...{ client: caller, sub: subject.claims.sub, asked: scope, names: [], subject, resource },
    actor: () => undefined,
  }
  const rules = EXCHANGE_RULES.filter(({ name }) => !resource || !['resource_known', 'fronting_link'].includes(name))
  const found = await decide(service, rules, facts)
  return { scope: found.names.join(' '), consent_id: found.consent_id, uri: (found.resource ?? found.audience)?.uri }
}

describe('an exchange for a resource', () => {
  const across = { caller: gateway, subject: subjectOf(app) }

  test('needs a consent of the user to the client of the subject token, and records the id of the consent', async () => {
    const resource = target()
    const { app: service, asked } = world(ALL)
    const allowed = await allow(service, { ...across, scope: 'read' }, resource)
    expect(allowed).toMatchObject({ scope: 'read', consent_id: 'consent of app' })
    expect(asked).toEqual([{ user_id: 'u_alice', client_id: 'app', resource_id: resource.id }])
  })

  test.each([
    ['the exchange list', policy(['gateway'], [])],
    ['the runtime list', policy([], ['gateway'])],
    ['the runtime list beside an exchange list of others', policy(['other'], ['gateway'])],
  ])('another client is allowed if it is on %s', async (_what, named) => {
    expect((await allow(world(ALL).app, across, target({ policy: named }))).scope).toBe('read write')
  })

  test.each([
    ['both lists are empty', policy([], [])],
    ['both lists name others', policy(['other'], ['another'])],
    ["only the subject token's client is named", policy(['app'], ['app'])],
  ])('when %s, another client gets access_denied, with or without a consent', async (_what, named) => {
    for (const consents of [ALL, {}]) {
      const refusal = await refusalOf(() => allow(world(consents).app, across, target({ policy: named })))
      expect([refusal.code, refusal.status, refusal.reason]).toEqual([
        'access_denied',
        403,
        'cross_client_not_authorized',
      ])
      expect(refusal.more.body).toBeUndefined()
    }
  })

  test('a client needs no list for its own token, but a consent', async () => {
    const own = { caller: app, subject: subjectOf(app) }
    const resource = target({ policy: policy([], []) })
    expect((await allow(world(ALL).app, own, resource)).scope).toBe('read write')
    expect((await refusalOf(() => allow(world().app, own, resource))).code).toBe('consent_required')
  })

  test('a consent to the requesting client does not replace a consent to the client of the subject token', async () => {
    const refusal = await refusalOf(() => allow(world({ gateway: 'read write' }).app, across, target()))
    expect([refusal.code, refusal.reason]).toEqual(['consent_required', 'consent_missing'])
  })

  test('without a consent the refusal contains the URL where the user can consent to the requested scopes', async () => {
    const refusal = await refusalOf(() => allow(world().app, { ...across, scope: 'write' }, target()))
    expect(refusal.more.body).toMatchObject({ cause: 'consent_missing' })
    const url = new URL(String(refusal.more.body?.['consent_url']))
    expect(url.origin + url.pathname).toBe(`${ISSUER}/oauth/authorize`)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'app',
      resource: 'https://target.example.com',
      scope: 'write',
    })
  })

  test('a consent to fewer scopes than requested gives scope_insufficient with only the missing scopes', async () => {
    const refusal = await refusalOf(() =>
      allow(world({ app: 'read' }).app, { ...across, scope: 'read write' }, target()),
    )
    expect(refusal.more.body).toMatchObject({ cause: 'scope_insufficient' })
    expect(new URL(String(refusal.more.body?.['consent_url'])).searchParams.get('scope')).toBe('write')
  })

  describe('scope', () => {
    const scopeOf = async (
      scope: string | undefined,
      { held, consented = 'read write admin', declared = ['read', 'write', 'admin'] }: Limits,
    ) => {
      const exchange = { caller: gateway, subject: subjectOf(app, { scope: held }), scope }
      return (await allow(world({ app: consented }).app, exchange, target({ scopes: scopes(...declared) }))).scope
    }
    interface Limits {
      held?: string
      consented?: string
      declared?: string[]
    }

    test.each<[string, Limits, string]>([
      ['the scope of the subject token', { held: 'read write' }, 'read write'],
      ['the part of it that the target declares', { held: 'read write', declared: ['write'] }, 'write'],
      [
        'the part of it that the user consented to',
        { held: 'read write admin', consented: 'write read' },
        'read write',
      ],
    ])('without a scope parameter the scope is %s', async (_what, given, expected) => {
      expect(await scopeOf(undefined, given)).toBe(expected)
    })

    test.each<[string, Limits]>([
      ['a subject token without scope', { held: undefined }],
      ['a subject token with an empty scope', { held: '' }],
      ['a target that declares none of it', { held: 'read', declared: ['other'] }],
      ['a consent to none of it', { held: 'read', consented: 'write' }],
    ])('an empty remaining scope is refused and does not mean all scopes: %s', async (_what, given) => {
      const refusal = await refusalOf(() => scopeOf(undefined, given))
      expect([refusal.code, refusal.reason]).toEqual(['invalid_scope', 'default_scope_empty'])
    })

    test('a consent is not requested if it could leave no scope', async () => {
      const across = { caller: gateway, subject: subjectOf(app, { scope: 'read' }) }
      const refusal = await refusalOf(() => allow(world().app, across, target({ scopes: scopes('other') })))
      expect([refusal.code, refusal.reason]).toEqual(['invalid_scope', 'default_scope_empty'])
    })

    test.each<[string, string, Limits, string]>([
      ['beyond the subject token', 'read admin', { held: 'read' }, 'subject_scope_ceiling'],
      ['of a subject token that has none', 'read', { held: undefined }, 'subject_scope_ceiling'],
      ['that the target does not declare', 'read', { held: 'read write', declared: ['write'] }, 'scope_not_in_catalog'],
      ['with characters that no scope has', 'read\twrite', { held: 'read write' }, 'malformed_scope'],
    ])('a scope %s is refused with invalid_scope', async (_what, scope, given, reason) => {
      const refusal = await refusalOf(() => scopeOf(scope, given))
      expect([refusal.code, refusal.reason]).toEqual(['invalid_scope', reason])
    })

    test('blanks, and scopes of OpenID Connect that the target does not declare, count as no scope', async () => {
      for (const scope of ['  ', ' openid  email '])
        expect(await scopeOf(scope, { held: 'read write' })).toBe('read write')
    })

    test('a requested scope is granted exactly, each name once', async () => {
      expect(await scopeOf('write read write', { held: 'read write' })).toBe('write read')
    })
  })

  describe("an exchange of a client's own token with self exchange allowed", () => {
    const service = world({}, { allow_self_exchange: true })
    const own = { caller: app, subject: subjectOf(app) }

    test('needs neither a list nor a consent, and records no consent', async () => {
      const resource = target({ policy: policy([], []), scopes: scopes('read') })
      expect(await allow(service.app, own, resource)).toMatchObject({ scope: 'read', consent_id: undefined })
      expect(service.asked).toEqual([])
    })

    test('is limited by the scopes of the subject token and of the target', async () => {
      const asking = (scope: string) => refusalOf(() => allow(service.app, { ...own, scope }, target()))
      expect((await asking('admin')).reason).toBe('subject_scope_ceiling')
      expect((await asking('other')).reason).toBe('scope_not_in_catalog')
    })

    test('does not allow exchanges of tokens of other clients', async () => {
      const foreign = { caller: gateway, subject: subjectOf(app) }
      const closed = target({ policy: policy([], []) })
      expect((await refusalOf(() => allow(service.app, foreign, closed))).code).toBe('access_denied')
      expect((await refusalOf(() => allow(service.app, foreign, target()))).code).toBe('consent_required')
    })
  })
})

describe('an exchange without a resource', () => {
  const allowed = world({}, { allow_self_exchange: true }).app

  test("renews a client's own token for the same audience, with the same or fewer scopes, if self exchange is allowed", async () => {
    const own = { caller: app, subject: subjectOf(app) }
    const same = await allow(allowed, own)
    expect(same.uri).toBe('https://source.example.com')
    expect(same.scope).toBe('read write')
    expect((await allow(allowed, { ...own, scope: 'write' })).scope).toBe('write')
    const nowhere = { caller: app, subject: subjectOf(app, { aud: undefined }) }
    expect((await allow(allowed, nowhere)).uri).toBeUndefined()
  })

  test('is access_denied otherwise', async () => {
    for (const [service, caller] of [
      [world(ALL).app, app],
      [allowed, gateway],
    ] as const) {
      const refusal = await refusalOf(() => allow(service, { caller, subject: subjectOf(app) }))
      expect([refusal.code, refusal.reason]).toEqual(['access_denied', 'self_exchange_not_allowed'])
    }
  })

  test('never grants additional scopes, and never a token without a scope', async () => {
    const own = (scope?: string, held?: string) => ({ caller: app, subject: subjectOf(app, { scope: held }), scope })
    expect((await refusalOf(() => allow(allowed, own('admin', 'read')))).reason).toBe('subject_scope_ceiling')
    expect((await refusalOf(() => allow(allowed, own(undefined, undefined)))).reason).toBe('default_scope_empty')
  })
})

describe('the chain of actors', () => {
  const chain = (...subs: string[]): Actor | undefined =>
    subs.reduce<Actor | undefined>((act, sub) => ({ sub, ...(act ? { act } : {}) }), undefined)
  const service = world().app

  test('begins with the caller, and contains the earlier actors', () => {
    expect(delegatedTo(service, gateway, undefined)).toEqual({ sub: 'gateway', actor_type: 'service' })
    expect(delegatedTo(service, gateway, chain('a', 'b'))).toEqual({
      sub: 'gateway',
      actor_type: 'service',
      act: { sub: 'b', act: { sub: 'a' } },
    })
  })

  test('states whether an actor is an agent', () => {
    expect(delegatedTo(service, { ...gateway, is_agent: true }, undefined).actor_type).toBe('agent')
  })

  test('may have at most max_chain_depth actors including the caller', async () => {
    expect(delegatedTo(service, gateway, chain('a', 'b', 'c', 'd')).act?.sub).toBe('d')
    const refusal = await refusalOf(() => delegatedTo(service, gateway, chain('a', 'b', 'c', 'd', 'e')))
    expect([refusal.code, refusal.reason]).toEqual(['invalid_request', 'chain_too_deep'])
    const one = world({}, { max_chain_depth: 1 }).app
    expect(delegatedTo(one, gateway, undefined).sub).toBe('gateway')
    expect((await refusalOf(() => delegatedTo(one, gateway, chain('a')))).reason).toBe('chain_too_deep')
  })
})
