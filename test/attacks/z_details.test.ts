// Attacks on authorization details (RFC 9396) whose cost the sender chooses.
import { expect, test } from 'vitest'
import { narrowedDetails, requestedDetails } from '../../src/oauth/tokens/authorization_details.ts'
import { DetailsSchemas } from '../../src/oauth/tokens/details_schemas.ts'
import { aResource } from '../support/records.ts'

const RUNS = 100
/** Milliseconds of the processor that the cheapest run takes: other threads of this process may work during the others. */
async function costOf(run: () => unknown): Promise<number> {
  for (let i = 0; i < 20; i++) await run()
  const costs: number[] = []
  for (let i = 0; i < RUNS; i++) {
    const before = process.cpuUsage()
    await run()
    const { user, system } = process.cpuUsage(before)
    costs.push((user + system) / 1000)
  }
  return Math.min(...costs)
}

test('Z10: twenty elements of 16 KB together are checked in 3 ms of the processor, and a comparison reads each member once', async () => {
  const schema = { properties: { members: { type: 'object', additionalProperties: { type: 'number' } } } }
  const resource = aResource({ authorization_details_types: [{ type: 'wide', description: 'Wide', schema }] })
  const members = Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`m${99 - i}`, i % 10]))
  const elements = Array.from({ length: 20 }, (_, n) => ({ type: 'wide', members: { ...members, n } }))
  const text = JSON.stringify(elements)
  expect(text.length).toBeGreaterThan(14_000)
  const app = { details: new DetailsSchemas() }
  expect(await requestedDetails(app, text, resource)).toEqual(elements)
  expect(await costOf(() => requestedDetails(app, text, resource))).toBeLessThan(3)
  const granted = elements.toReversed()
  expect(narrowedDetails(text, granted)).toEqual(elements)
  let reads = 0
  const counted = granted.map((element) => ({
    ...element,
    members: new Proxy(element.members, {
      get(target, name) {
        if (Object.hasOwn(target, name)) reads++
        return Reflect.get(target, name)
      },
    }),
  }))
  narrowedDetails(text, counted)
  expect(reads).toBe(20 * Object.keys(elements[0]?.members ?? {}).length)
})
