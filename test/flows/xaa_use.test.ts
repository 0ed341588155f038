// An assertion is valid for one token: refusals that keep it valid, refusals that consume it, and single use.
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resourceRecord } from '../../src/config/records.ts'
import { newResource } from '../../src/oauth/tokens/resource_record.ts'
import { okAdmin } from '../support/admin.ts'
import { type Changes, dpop, type ProofKey, proofKey } from '../support/dpop.ts'
import type { Answer } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { aProvider } from '../support/records.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'
import {
  addXaaClient,
  LOOPBACK,
  mapSubject,
  redeemAssertion,
  type Scene,
  watchReasons,
  xaaScene,
} from '../support/xaa.ts'

let service: TestService
let strict: TestService
let scene: Scene
let strictScene: Scene
let watches: ((answer: Answer) => string | undefined)[]
let [key, other]: ProofKey[] = []
beforeAll(async () => {
  service = await startService(LOOPBACK)
  const env = { SERVICE_XAA_SUBJECT_MODE: 'strict', SERVICE_XAA_REQUIRE_RESOURCE: 'true' }
  strict = await startService({ ...LOOPBACK, ...env })
  watches = [watchReasons(service), watchReasons(strict)]
  ;[scene, strictScene] = [await xaaScene(service), await xaaScene(strict)]
  await mapSubject(strict, strictScene.idp_id, 'mapped', 'payroll')
  const disabled = await addUser(service, { status: 'disabled' })
  await mapSubject(service, scene.idp_id, 'disabled', disabled.id)
  ;[key, other] = [await proofKey(), await proofKey()]
  const scopes = scene.resource.scopes
  const brokered = { slug: 'brokered', uri: BROKERED, backend_kind: 'broker', broker_provider_slug: 'github' } as const
  await service.app.store.createProvider(aProvider({ slug: 'github' }))
  await service.app.store.createResource(
    newResource(resourceRecord.parse({ ...brokered, display_name: 'Brokered', scopes }), 0),
  )
})
afterAll(() => Promise.all([service.close(), strict.close()]))

const BROKERED = 'https://brokered.example.com/mcp'
const reasonOf = (answer: Answer) => watches.map((watch) => watch(answer)).find(Boolean)
const refusal = (answer: Answer) => [answer.status, answer.body['error'], reasonOf(answer)]
const REPLAY = [400, 'invalid_grant', 'replay']

/** How an assertion is sent: by another client, with fields and headers, after a change. */
interface Try {
  client?: Scene['client']
  fields?: Record<string, string | undefined>
  headers?: Record<string, string>
}
const bring = (at: Scene, assertion: string, { client = at.client, fields, headers }: Try) =>
  redeemAssertion(at.service, client, assertion, fields, headers)

/** An assertion, a refused request, and the request in which the same assertion would be accepted. */
interface Case {
  at?: () => Scene
  claims?: () => Changes['claims']
  wrong: () => Try | Promise<Try>
  right?: () => Try | Promise<Try>
}
async function bringTwice({ at = () => scene, claims, wrong, right }: Case) {
  const assertion = await at().assertion({ claims: claims?.() })
  const first = await bring(at(), assertion, await wrong())
  return { first: refusal(first), second: await bring(at(), assertion, (await right?.()) ?? {}) }
}
const proofOf = async (of: ProofKey | undefined): Promise<Try> => ({ headers: await dpop(service, of as ProofKey) })
const TWO = ['https://a.example', 'https://b.example']

const usable: [string, unknown[], Case][] = [
  [
    'a wrong client secret',
    [401, 'invalid_client', 'wrong_secret'],
    { wrong: () => ({ client: { ...scene.client, client_secret: 'cs_wrong' } }) },
  ],
  [
    'a client that may not bring assertions',
    [400, 'unauthorized_client', 'grant_not_registered'],
    { wrong: async () => ({ client: await addClient(service) }) },
  ],
  [
    'a client that it is not for',
    [400, 'invalid_grant', 'another_client'],
    { wrong: async () => ({ client: await addXaaClient(service) }) },
  ],
  [
    'a broken proof',
    [400, 'invalid_dpop_proof', 'malformed'],
    { wrong: () => ({ headers: { dpop: 'x' } }), right: () => proofOf(key) },
  ],
  [
    'no proof of the key that it is for',
    [400, 'invalid_grant', 'assertion_key'],
    { claims: () => ({ cnf: { jkt: key?.jkt } }), wrong: () => ({}), right: () => proofOf(key) },
  ],
  [
    'a proof of another key than the one that it is for',
    [400, 'invalid_grant', 'assertion_key'],
    { claims: () => ({ cnf: { jkt: key?.jkt } }), wrong: () => proofOf(other), right: () => proofOf(key) },
  ],
  [
    'a resource that it is not for',
    [400, 'invalid_target', 'assertion_resource'],
    { wrong: () => ({ fields: { resource: 'https://other.example' } }) },
  ],
  [
    'two resources of which none is chosen',
    [400, 'invalid_target', 'ambiguous_resource'],
    {
      claims: () => ({ resource: [...TWO, scene.resource.uri] }),
      wrong: () => ({}),
      right: () => ({ fields: { resource: scene.resource.uri } }),
    },
  ],
  [
    'no resource where one is required',
    [400, 'invalid_target', 'missing_resource'],
    {
      at: () => strictScene,
      claims: () => ({ resource: undefined, sub: 'mapped' }),
      wrong: () => ({}),
      right: () => ({ fields: { resource: strictScene.resource.uri } }),
    },
  ],
  [
    'clocks that differ too much',
    [400, 'invalid_grant', 'iat'],
    {
      claims: () => ({ iat: service.app.clock.now() + 32, exp: service.app.clock.now() + 300 }),
      wrong: () => ({}),
      right: () => {
        service.advance(2)
        return {}
      },
    },
  ],
  [
    'an identity provider that is switched off',
    [400, 'invalid_grant', 'issuer_disabled'],
    {
      wrong: () => setEnabled(false),
      right: () => setEnabled(true),
    },
  ],
]
async function setEnabled(enabled: boolean): Promise<Try> {
  await okAdmin(service, 'PUT', `/admin/idps/${scene.idp_id}`, { enabled })
  return {}
}

test.each(usable)('an assertion that is refused for %s stays valid', async (_what, expected, each) => {
  const { first, second } = await bringTwice(each)
  expect(first).toEqual(expected)
  expect(second.status, JSON.stringify(second.body)).toBe(200)
})

const burnt: [string, unknown[], Case][] = [
  [
    'nothing but scopes beyond its own',
    [400, 'invalid_scope', 'default_scope_empty'],
    { claims: () => ({ scope: 'mcp:read' }), wrong: () => ({ fields: { scope: 'mcp:write' } }) },
  ],
  [
    'a scope that no resource declares',
    [400, 'invalid_scope', 'scope_not_in_catalog'],
    { wrong: () => ({ fields: { scope: 'mcp:admin' } }) },
  ],
  ['a malformed scope', [400, 'invalid_scope', 'malformed_scope'], { wrong: () => ({ fields: { scope: '"' } }) }],
  [
    'a scope of its own that is empty: it is no way to ask for everything',
    [400, 'invalid_scope', 'default_scope_empty'],
    { claims: () => ({ scope: '' }), wrong: () => ({}) },
  ],
  [
    'a resource that is not registered',
    [400, 'invalid_target', 'resource_not_found'],
    {
      claims: () => ({ resource: undefined }),
      wrong: () => ({ fields: { resource: 'https://unknown.example' } }),
      right: () => ({ fields: { resource: scene.resource.uri } }),
    },
  ],
  [
    'a resource whose tokens others make',
    [400, 'invalid_target', 'broker_resource'],
    {
      claims: () => ({ resource: [BROKERED, scene.resource.uri] }),
      wrong: () => ({ fields: { resource: BROKERED } }),
      right: () => ({ fields: { resource: scene.resource.uri } }),
    },
  ],
  [
    'a subject who may not act',
    [400, 'invalid_grant', 'subject_inactive'],
    { claims: () => ({ sub: 'disabled' }), wrong: () => ({}) },
  ],
  [
    'a subject whom nobody mapped, where that is required',
    [403, 'access_denied', 'subject_not_mapped'],
    {
      at: () => strictScene,
      wrong: () => ({}),
      right: mapped,
    },
  ],
]
async function mapped(): Promise<Try> {
  await mapSubject(strict, strictScene.idp_id, 'employee-1', 'x')
  return {}
}

test.each(burnt)('an assertion that is refused for %s is consumed', async (_what, expected, each) => {
  const { first, second } = await bringTwice(each)
  expect(first).toEqual(expected)
  expect(refusal(second)).toEqual(REPLAY)
})

test('an assertion that is refused for an undeclared scope or by the policies is consumed', async () => {
  const at = await xaaScene(service, {
    policies: [{ scopes: ['mcp:read'] }],
    client: { scope: 'mcp:read mcp:write mcp:x' },
  })
  for (const [scope, ...expected] of [
    ['mcp:read mcp:x', 400, 'invalid_scope', 'scope_not_in_catalog'],
    ['mcp:write', 403, 'access_denied', 'policy_denied'],
  ] as const) {
    const assertion = await at.assertion()
    expect(refusal(await at.redeem(assertion, { scope }))).toEqual(expected)
    expect(refusal(await at.redeem(assertion))).toEqual(REPLAY)
  }
})

describe('single use', () => {
  const issuedTo = async ({ client: { client_id } }: Scene) =>
    (await service.app.store.listIssuances({ client_id, since: '', limit: 1000 })).length

  test('of 50 concurrent requests with one assertion exactly one gets a token', async () => {
    const [assertion, before] = [await scene.assertion(), await issuedTo(scene)]
    const answers = await Promise.all(Array.from({ length: 50 }, () => scene.redeem(assertion)))
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
    expect(answers.map(refusal).filter(([status]) => status !== 200)).toEqual(Array(49).fill(REPLAY))
    expect(await issuedTo(scene)).toBe(before + 1)
  })

  test('of 50 concurrent assertions with one jti exactly one gets a token', async () => {
    const assertions = await Promise.all(
      Array.from({ length: 50 }, (_, i) => scene.assertion({ claims: { jti: 'shared', sub: `employee-${i}` } })),
    )
    const answers = await Promise.all(assertions.map((each) => scene.redeem(each)))
    expect(answers.filter(({ status }) => status === 200).length).toBe(1)
  })

  test('a new signature, other claims or another client do not make a used jti new', async () => {
    const jti = 'signed-again'
    expect((await scene.redeem(await scene.assertion({ claims: { jti } }))).status).toBe(200)
    const now = service.app.clock.now()
    for (const claims of [{ jti }, { jti, sub: 'employee-2' }, { jti, iat: now - 10, exp: now + 600 }])
      expect(refusal(await scene.redeem(await scene.assertion({ claims })))).toEqual(REPLAY)
    const client = await addXaaClient(service)
    const again = await scene.assertion({ claims: { jti, client_id: client.client_id } })
    expect(refusal(await redeemAssertion(service, client, again))).toEqual(REPLAY)
  })

  test('a used jti is remembered until the assertion would expire', async () => {
    const assertion = await scene.assertion({ claims: { exp: service.app.clock.now() + 900 } })
    expect((await scene.redeem(assertion)).status).toBe(200)
    service.advance(299)
    expect(refusal(await scene.redeem(assertion))).toEqual(REPLAY)
    service.advance(5)
    expect(refusal(await scene.redeem(assertion))).toEqual([400, 'invalid_grant', 'too_old'])
  })

  test('used assertions are refused after a restart, and unused ones are accepted', async () => {
    const folder = tempFolder()
    const env = {
      ...LOOPBACK,
      SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'service.db'),
      SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
    }
    const before = await startService(env)
    const { client, assertion, redeem } = await xaaScene(before)
    const [used, unused] = [await assertion(), await assertion()]
    expect((await redeem(used)).status).toBe(200)
    await before.close()
    const after = await startService({ ...env, SERVICE_SERVER_ISSUER: before.issuer })
    try {
      const reasonOf = watchReasons(after)
      expect(reasonOf(await redeemAssertion(after, client, used))).toBe('replay')
      expect((await redeemAssertion(after, client, unused)).status).toBe(200)
      expect(reasonOf(await redeemAssertion(after, client, unused))).toBe('replay')
    } finally {
      await after.close()
    }
  })
})
