// Any sequence of links, connections and exchanges into broker resources of one provider, against a model: the provider is never
// asked for a scope that no map, consent or subject token allows, and no token of it is handed out that is good for more.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin } from '../support/admin.ts'
import { addBrokerResource, addProvider, startBroker } from '../support/broker.ts'
import { addExchanger, aPerson, exchange, type Registered } from '../support/exchange.ts'
import { addResource, type TestService } from '../support/service.ts'
import { Upstream } from '../support/upstream.ts'

const RUNS = 20
const LETTERS = ['a', 'b', 'c']
const own = (letter: string) => `own:${letter}`
/** At the first target `a` is `up0.a` at the provider, at the second one `up1.a`. */
const upstreamName = (target: number, letter: string) => `up${target}.${letter}`
const scopesOf = (target: number) =>
  LETTERS.map((letter) => ({ name: letter, description: '', upstream: upstreamName(target, letter) }))

const letters = fc.subarray(LETTERS, { minLength: 1 })
const target = fc.nat(1)
const aStep = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('link' as const),
      target,
      map: fc.dictionary(fc.constantFrom(...LETTERS), letters, { minKeys: 1, noNullPrototype: true }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('unlink' as const), target }) },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('connect' as const),
      target,
      granted: fc.option(letters, { nil: undefined, freq: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('wait' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('exchange' as const),
      target,
      /** With the token for the gateway's resource, or the one for none. */
      fronted: fc.boolean(),
      scope: fc.option(letters, { nil: undefined }),
    }),
  },
)
type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never
/** Always among the sequences, so that at least one exchange is allowed. */
const ALLOWED: Step[] = [{ does: 'exchange', target: 0, fronted: false, scope: undefined }]

let service: TestService
let upstream: Upstream
let app: Registered
let gateway: Registered
beforeAll(async () => {
  service = await startBroker()
  upstream = await Upstream.start()
  const scope = [...LETTERS, ...LETTERS.map(own)].join(' ')
  ;[app, gateway] = [await addExchanger(service, { scope }), await addExchanger(service, { scope })]
})
afterAll(() => service.close())

/** A gateway, two broker resources of one provider, and a user with a token for the gateway and one for nothing. */
async function scene(held: string[]) {
  const provider = await addProvider(service, { config_data: upstream.config() })
  const runtime = { client_ids: [gateway.client_id] }
  const source = await addResource(service, { scopes: LETTERS.map(own), policy: { runtime } })
  const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
  const targets = [
    await addBrokerResource(service, provider, { policy, scopes: scopesOf(0) }),
    await addBrokerResource(service, provider, { policy, scopes: scopesOf(1) }),
  ]
  const person = await aPerson(service)
  const tokens = {
    fronted: (await person.signIn(app, source, held.map(own).join(' '))).body['access_token'],
    direct: (await person.signIn(app, undefined, held.join(' '))).body['access_token'],
  }
  return { provider, source, targets, person, tokens, held, maps: new Map<number, Record<string, string[]>>() }
}
type Scene = Awaited<ReturnType<typeof scene>>

async function take(step: Step, s: Scene): Promise<boolean> {
  if (step.does === 'wait') {
    service.advance(3600)
    return false
  }
  const goal = s.targets[step.target]
  if (step.does === 'link') {
    const scope_map = Object.fromEntries(Object.entries(step.map).map(([name, to]) => [own(name), to]))
    const body = { source: s.source.slug, target: goal?.slug, scope_map }
    const { status } = await callAdmin(service, 'POST', '/admin/fronting', body)
    expect(status).toBe(s.maps.has(step.target) ? 409 : 201)
    if (status === 201) s.maps.set(step.target, step.map)
    return false
  }
  if (step.does === 'unlink') {
    await callAdmin(service, 'DELETE', `/admin/fronting/${s.source.slug}/${goal?.slug}`)
    s.maps.delete(step.target)
    return false
  }
  if (step.does === 'connect') {
    const query = new URLSearchParams({ resource: goal?.slug ?? '', return_url: `${service.issuer}/connections` })
    const page = await s.person.browser.open(`${service.issuer}/connect/${s.provider.slug}?${query}`)
    upstream.granted = step.granted?.map((letter) => upstreamName(step.target, letter)).join(' ')
    await s.person.browser.open(upstream.approve(page.location ?? ''))
    upstream.granted = undefined
    return false
  }
  const before = upstream.refreshed.length
  const subject_token = step.fronted ? s.tokens.fronted : s.tokens.direct
  const fields = { subject_token, resource: goal?.uri, scope: step.scope?.join(' ') }
  const { status, body } = await exchange(service, gateway, fields)
  const map = s.maps.get(step.target)
  const most = step.fronted ? s.held.flatMap((letter) => map?.[letter] ?? []) : s.held
  const wanted = step.scope ?? LETTERS.filter((letter) => most.includes(letter))
  const isWithin = wanted.length > 0 && wanted.every((letter) => most.includes(letter))
  const names = wanted.map((letter) => upstreamName(step.target, letter)).sort()
  for (const { form } of upstream.refreshed.slice(before)) {
    expect(isWithin, 'the provider was asked').toBe(true)
    expect(form['scope']?.split(' ').sort()).toEqual(names)
  }
  if (!isWithin) expect([400, 403]).toContain(status)
  if (status !== 200) {
    expect(body).not.toHaveProperty('access_token')
    return false
  }
  expect(String(body['scope']).split(' ').sort()).toEqual([...wanted].sort())
  expect(upstream.scopes.get(String(body['access_token']))?.split(' ').sort()).toEqual(names)
  return true
}

test('no sequence of links, connections and exchanges returns a scope that no map allows', async () => {
  let taken = 0
  await fc.assert(
    fc.asyncProperty(letters, fc.array(aStep, { minLength: 5, maxLength: 14 }), async (held, steps) => {
      const made = await scene(held)
      await take({ does: 'connect', target: 0, granted: undefined }, made)
      for (const step of steps) if (await take(step, made)) taken++
    }),
    { numRuns: RUNS, examples: [[LETTERS, ALLOWED]] },
  )
  expect(taken, 'exchanges that were allowed').toBeGreaterThan(0)
}, 120_000)
