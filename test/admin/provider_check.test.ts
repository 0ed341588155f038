// GET /admin/broker-providers/{id}/check, and what doctor says about broker providers.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { addProvider, startBroker } from '../support/broker.ts'
import { envOf, runHere } from '../support/cli.ts'
import type { TestService } from '../support/service.ts'
import { Upstream } from '../support/upstream.ts'

let service: TestService
beforeAll(async () => {
  service = await startBroker()
})
afterAll(() => service.close())

/** A provider that answers the made-up code with an error. */
async function providerThat(status: number, error: string, more: object = {}) {
  const upstream = await Upstream.start()
  upstream.answer = (_form, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
  const { slug } = await addProvider(service, { config_data: { ...upstream.config(), ...more } })
  const env = envOf(service)
  return {
    upstream,
    checked: () => okAdmin<Record<string, unknown>>(service, 'GET', `/admin/broker-providers/${slug}/check`),
    async doctor() {
      const findings = JSON.parse((await runHere(['doctor', '--json'], env)).stdout) as { check: string }[]
      return findings.find(({ check }) => check === `broker provider ${slug}`)
    },
  }
}

test.each([
  ['refuses the code', 400, 'invalid_grant'],
  ['finds something else wrong with the code', 400, 'invalid_request'],
  ['has an error of its own for it', 200, 'bad_verification_code'],
])('a provider that %s accepts the client', async (_what, status, error) => {
  const { checked, doctor, upstream } = await providerThat(status, error)
  expect(await checked()).toEqual({ usable: true })
  expect(upstream.asked.length).toBe(1)
  expect(await doctor()).toMatchObject({ result: 'ok' })
})

test.each([
  ['refuses the client', 401, 'invalid_client', {}, 'upstream_invalid_client', 'client_id'],
  ['refuses the client as Keycloak does', 401, 'unauthorized_client', {}, 'upstream_unauthorized_client', 'client_id'],
  ['is down', 503, '', {}, 'upstream_answer_lost', 'network'],
  ['has a secret that is not set', 400, '', { client_secret_ref: 'CONNECTOR_NOT_SET' }, 'secret_missing', 'variable'],
])(
  'a provider that %s is not usable, with the reason and what to do',
  async (_what, status, error, more, reason, fix) => {
    const { checked, doctor } = await providerThat(status, error, more)
    expect(await checked()).toEqual({ usable: false, reason, fix: expect.stringContaining(fix) })
    expect(await doctor()).toMatchObject({
      ...{ result: 'fail', message: `cannot be used: ${reason}`, fix: expect.stringContaining(fix) },
    })
  },
)

test('a provider of another protocol has no client to check', async () => {
  const { slug } = await addProvider(service, { protocol: 'apikey', config_data: {} })
  expect((await callAdmin(service, 'GET', `/admin/broker-providers/${slug}/check`)).status).toBe(400)
})
