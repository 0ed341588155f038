// Any sequence of links, unlinks and exchanges among four resources, against a model: no scope comes out that no map allows.
import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin } from '../support/admin.ts'
import { addExchanger, aPerson, exchange, type Registered } from '../support/exchange.ts'
import { addResource, startService, type TestService } from '../support/service.ts'

const RUNS = 25
const COUNT = 4
/** Every resource declares scopes of these names with its own number, so that a name says where it is from. */
const LETTERS = ['a', 'b']
const scopesOf = (resource: number) => LETTERS.map((letter) => `${letter}${resource}`)

const index = fc.nat(COUNT - 1)
const aMap = fc.dictionary(fc.constantFrom(...LETTERS), fc.subarray(LETTERS, { minLength: 1 }), {
  minKeys: 1,
  noNullPrototype: true,
})
const aStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('link' as const), from: index, to: index, map: aMap }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('unlink' as const), from: index, to: index }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('exchange' as const),
      /** The index of a token, counted from the newest. */
      subject: fc.nat(3),
      to: index,
      scope: fc.option(fc.subarray(LETTERS, { minLength: 1 }), { nil: undefined }),
    }),
  },
)
type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never
/** Always among the sequences, so that at least one exchange is allowed. */
const ALLOWED: Step[] = [
  { does: 'link', from: 0, to: 1, map: { a: ['a', 'b'] } },
  { does: 'exchange', subject: 0, to: 1, scope: undefined },
]

interface Token {
  value: unknown
  at: number
  scope: string[]
}

let service: TestService
let app: Registered
let gateway: Registered
let person: Awaited<ReturnType<typeof aPerson>>
beforeAll(async () => {
  service = await startService({ SERVICE_TOKEN_EXCHANGE_MAX_CHAIN_DEPTH: '10' })
  const scope = Array.from({ length: COUNT }, (_, i) => scopesOf(i))
    .flat()
    .join(' ')
  ;[app, gateway] = [await addExchanger(service, { scope }), await addExchanger(service, { scope })]
  person = await aPerson(service)
})
afterAll(() => service.close())

/** Performs a step at the service and in the model. Returns whether a token was issued. */
async function take(
  step: Step,
  resources: readonly { slug: string; uri: string }[],
  maps: Map<string, Record<string, string[]>>,
  tokens: Token[],
) {
  const [to, key] = [resources[step.to], step.does === 'exchange' ? '' : `${step.from} ${step.to}`]
  if (step.does === 'link') {
    const scope_map = Object.fromEntries(
      Object.entries(step.map).map(([name, targets]) => [
        `${name}${step.from}`,
        targets.map((each) => `${each}${step.to}`),
      ]),
    )
    const body = { source: resources[step.from]?.slug, target: to?.slug, scope_map }
    if ((await callAdmin(service, 'POST', '/admin/fronting', body)).status === 201) maps.set(key, scope_map)
    return false
  }
  if (step.does === 'unlink') {
    const { status } = await callAdmin(service, 'DELETE', `/admin/fronting/${resources[step.from]?.slug}/${to?.slug}`)
    expect(status).toBe(maps.delete(key) ? 204 : 404)
    return false
  }
  const subject = tokens.at(-1 - (step.subject % tokens.length)) as Token
  // The resource of the token itself is not a target.
  if (subject.at === step.to) return false
  const asked = step.scope?.map((each) => `${each}${step.to}`)
  const fields = { subject_token: subject.value, resource: to?.uri, scope: asked?.join(' ') }
  const { status, body } = await exchange(service, gateway, fields)
  const map = maps.get(`${subject.at} ${step.to}`)
  const reachable = subject.scope.flatMap((name) => map?.[name] ?? [])
  const allowed =
    map !== undefined && (asked ?? reachable).length > 0 && (asked ?? []).every((name) => reachable.includes(name))
  expect(status === 200, JSON.stringify(body)).toBe(allowed)
  if (status !== 200) return false
  const claims = decodeJwt<{ scope: string }>(String(body['access_token']))
  const got = claims.scope.split(' ')
  expect([claims.sub, claims.aud]).toEqual([person.user.id, [to?.uri]])
  expect([...got].sort()).toEqual([...new Set(asked ?? reachable)].sort())
  tokens.push({ value: body['access_token'], at: step.to, scope: got })
  return true
}

test('no sequence of links and exchanges issues a scope that no map allows, and links never form a cycle', async () => {
  let taken = 0
  await fc.assert(
    fc.asyncProperty(
      fc.subarray(LETTERS, { minLength: 1 }),
      fc.array(aStep, { minLength: 5, maxLength: 14 }),
      async (held, steps) => {
        const runtime = { client_ids: [gateway.client_id] }
        const resources: Awaited<ReturnType<typeof addResource>>[] = []
        for (let i = 0; i < COUNT; i++)
          resources.push(await addResource(service, { scopes: scopesOf(i), policy: { runtime } }))
        const scope = held.map((letter) => `${letter}0`)
        const answer = await person.signIn(app, resources[0], scope.join(' '))
        const tokens: Token[] = [{ value: answer.body['access_token'], at: 0, scope }]
        const maps = new Map<string, Record<string, string[]>>()
        for (const step of steps) if (await take(step, resources, maps, tokens)) taken++
        expect(isCircular([...maps.keys()].map((key) => key.split(' ').map(Number) as [number, number]))).toBe(false)
      },
    ),
    { numRuns: RUNS, examples: [[LETTERS, ALLOWED]] },
  )
  expect(taken, 'exchanges that were allowed').toBeGreaterThan(0)
}, 60_000)

/** Whether edges lead from any node back to it. */
function isCircular(edges: readonly [number, number][]): boolean {
  const reaches = (from: number, goal: number, seen: readonly number[] = []): boolean =>
    edges.some(([a, b]) => a === from && !seen.includes(b) && (b === goal || reaches(b, goal, [...seen, b])))
  return edges.some(([node]) => reaches(node, node))
}
