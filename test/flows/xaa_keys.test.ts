// The keys of identity providers, through the token endpoint: rotation, outages, and URLs that are never fetched.
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { rfc3339 } from '../../src/lib/time.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import type { Answer } from '../support/flow.ts'
import { type IdpKey, idpKey, TestIdp } from '../support/idp.ts'
import { anIdp } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'
import {
  addPolicy,
  addXaaClient,
  LOOPBACK,
  redeemAssertion,
  type Scene,
  watchReasons,
  xaaScene,
} from '../support/xaa.ts'

let service: TestService
let reasonOf: (answer: Answer) => string | undefined
beforeAll(async () => {
  service = await startService({ ...LOOPBACK, SERVICE_XAA_JWKS_CACHE_TTL: '10m' })
  reasonOf = watchReasons(service)
})
afterAll(() => service.close())

const COOLDOWN = 30
const FAILURE_MEMORY = 10
const status =
  (code: number): RequestListener =>
  (_request, response) =>
    void response.writeHead(code).end()
/** Redeems a new assertion. Returns the result as a word. */
const tried = async ({ assertion, redeem }: Scene, key?: IdpKey, header: Record<string, unknown> = {}) => {
  const answer = await redeem(await assertion({ header }, key))
  return answer.status === 200 ? 'accepted' : reasonOf(answer)
}

describe('rotation', () => {
  test('one fetch serves many assertions, also concurrent ones', async () => {
    const scene = await xaaScene(service)
    const assertions = await Promise.all(Array.from({ length: 20 }, () => scene.assertion()))
    const answers = await Promise.all(assertions.map((each) => scene.redeem(each)))
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200))
    expect(await tried(scene)).toBe('accepted')
    expect(scene.idp.fetches).toBe(1)
  })

  test('an unknown kid causes one fetch: the new key is accepted, the removed one is refused', async () => {
    const scene = await xaaScene(service)
    expect(await tried(scene)).toBe('accepted')
    const old = await scene.idp.rotate()
    expect(await tried(scene, old)).toBe('accepted')
    expect(await tried(scene)).toBe('accepted')
    expect(scene.idp.fetches).toBe(2)
    expect(await tried(scene, old)).toBe('unknown_key')
    expect(scene.idp.fetches).toBe(2)
  })

  test('two published keys are both accepted', async () => {
    const scene = await xaaScene(service)
    const next = await idpKey('RS256')
    scene.idp.keys.push(next)
    expect([await tried(scene), await tried(scene, next)]).toEqual(['accepted', 'accepted'])
    scene.idp.keys.shift()
    service.advance(600)
    expect(await tried(scene, next)).toBe('accepted')
  })

  test('200 unknown kids cause one fetch per cool-down, and other assertions are accepted meanwhile', async () => {
    const scene = await xaaScene(service)
    expect(await tried(scene)).toBe('accepted')
    const stranger = await idpKey()
    const made = await Promise.all(
      Array.from({ length: 200 }, (_, i) => scene.assertion({ header: { kid: `made-up-${i}` } }, stranger)),
    )
    const reasons = (await Promise.all(made.map((each) => scene.redeem(each)))).map(reasonOf)
    expect(new Set(reasons)).toEqual(new Set(['unknown_key']))
    expect(scene.idp.fetches).toBe(2)
    const old = await scene.idp.rotate()
    expect(await tried(scene)).toBe('unknown_key')
    expect(await tried(scene, old)).toBe('accepted')
    service.advance(COOLDOWN)
    expect(await tried(scene)).toBe('accepted')
    expect(scene.idp.fetches).toBe(3)
  })

  test('without a kid every matching key is tried', async () => {
    const scene = await xaaScene(service)
    scene.idp.keys.unshift(await idpKey(), await idpKey('RS256'))
    const last = scene.idp.keys.at(-1)
    expect(await tried(scene, last, { kid: undefined })).toBe('accepted')
    expect(await tried(scene, await idpKey('ES256', ''), { kid: undefined })).toBe('signature')
  })

  test('an operator can fetch the keys at once, or change their URL', async () => {
    const scene = await xaaScene(service)
    expect(await tried(scene)).toBe('accepted')
    const lost = await scene.idp.rotate()
    await okAdmin(service, 'POST', `/admin/idps/${scene.idp_id}/refresh-keys`)
    expect(await tried(scene, lost)).toBe('unknown_key')
    const elsewhere = await TestIdp.start()
    await okAdmin(service, 'PUT', `/admin/idps/${scene.idp_id}`, { jwks_uri: elsewhere.jwks_uri })
    expect(await tried(scene, elsewhere.key)).toBe('accepted')
    expect(await tried(scene)).toBe('unknown_key')
  })
})

describe('an outage', () => {
  test('is shown by the status and by doctor with its reason and its beginning, until the keys can be fetched again', async () => {
    const scene = await xaaScene(service)
    const shown = async () => {
      const { providers } = await okAdmin<{ providers: Record<string, unknown>[] }>(
        service,
        'GET',
        '/admin/system/status',
      )
      return providers.find(({ issuer }) => issuer === scene.idp.issuer)
    }
    const checked = async () => {
      const { stdout } = await runHere(['doctor', '--json'], envOf(service))
      return (JSON.parse(stdout) as { check: string; result: string; message: string }[]).find(
        ({ check }) => check === `keys of ${scene.idp.issuer}`,
      )
    }
    expect(await tried(scene)).toBe('accepted')
    const [good, slug] = [{ use: 'assertions', usable: true, keys: 1 }, scene.idp.issuer]
    expect(await shown()).toEqual({ ...good, id: scene.idp_id, slug, issuer: scene.idp.issuer })
    expect(await checked()).toMatchObject({ result: 'ok' })
    scene.idp.answer = status(500)
    service.advance(600)
    const now = service.app.clock.now()
    const since = String((await shown())?.['since'])
    expect([now, now + 1, now + 2].map(rfc3339)).toContain(since)
    expect(await shown()).toMatchObject({ usable: false, keys: 1, reason: 'jwks_bad_response', since })
    service.advance(700)
    expect(await tried(scene)).toBe('jwks_bad_response')
    expect(await shown()).toMatchObject({ usable: false, keys: 0, reason: 'jwks_bad_response', since })
    expect(await checked()).toMatchObject({
      result: 'fail',
      message: `cannot be fetched since ${since}: jwks_bad_response`,
    })
    scene.idp.answer = undefined
    service.advance(FAILURE_MEMORY)
    expect(await shown()).toMatchObject({ usable: true, keys: 1 })
  })

  const answers: [string, RequestListener, string][] = [
    ['answers with an error', status(500), 'jwks_bad_response'],
    ['redirects', (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end(), 'jwks_redirect'],
    [
      'answers with a page',
      (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('{}'),
      'jwks_bad_document',
    ],
    ['breaks off', (_, response) => void response.destroy(), 'jwks_bad_response'],
    ['answers without end', (_, response) => void response.end('x'.repeat(600_000)), 'jwks_too_large'],
  ]
  test.each(answers)(
    'an identity provider that %s causes 503, and the assertion stays valid',
    async (_what, answer, reason) => {
      const { idp, assertion, redeem } = await xaaScene(service)
      const carried = await assertion()
      idp.answer = answer
      const refused = await redeem(carried)
      expect([refused.status, refused.body['error'], reasonOf(refused)]).toEqual([
        503,
        'temporarily_unavailable',
        reason,
      ])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(JSON.stringify(refused.body)).not.toContain(String(idp.port))
      idp.answer = undefined
      service.advance(FAILURE_MEMORY)
      expect((await redeem(carried)).status).toBe(200)
    },
  )

  test('repeated requests during an outage cause few fetches', async () => {
    const scene = await xaaScene(service)
    scene.idp.answer = status(500)
    for (let i = 0; i < 5; i++) expect(await tried(scene)).toBe('jwks_bad_response')
    expect(scene.idp.fetches).toBe(1)
    service.advance(FAILURE_MEMORY)
    expect(await tried(scene)).toBe('jwks_bad_response')
    expect(scene.idp.fetches).toBe(2)
  })

  test('during an outage cached keys are used while fresh, and for the same time once more; then assertions are refused', async () => {
    const scene = await xaaScene(service)
    expect(await tried(scene)).toBe('accepted')
    scene.idp.answer = status(503)
    service.advance(580)
    expect(await tried(scene)).toBe('accepted')
    expect(await tried(scene, await idpKey())).toBe('jwks_bad_response')
    expect(await tried(scene)).toBe('accepted')
    service.advance(580)
    expect(await tried(scene)).toBe('accepted')
    service.advance(40)
    expect(await tried(scene)).toBe('jwks_bad_response')
  })

  test('an outage of one identity provider does not affect another', async () => {
    const [down, up] = [await xaaScene(service), await xaaScene(service)]
    down.idp.answer = status(500)
    expect([await tried(down), await tried(up)]).toEqual(['jwks_bad_response', 'accepted'])
  })
})

describe('never fetched', () => {
  /** A port that counts who connects. */
  async function trap() {
    const seen = { port: 0, connections: 0 }
    const server = createServer((socket) => {
      seen.connections++
      socket.destroy()
    }).listen(0)
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    seen.port = (server.address() as AddressInfo).port
    return seen
  }

  test('the target of a redirect is not fetched', async () => {
    const [scene, target] = [await xaaScene(service), await trap()]
    const location = `http://127.0.0.1:${target.port}/jwks.json`
    for (const code of [301, 302, 303, 307, 308]) {
      scene.idp.answer = (_, response) => void response.writeHead(code, { location }).end()
      expect(await tried(scene)).toBe('jwks_redirect')
      service.advance(FAILURE_MEMORY)
    }
    expect([scene.idp.fetches, target.connections]).toEqual([5, 0])
  })

  test('jku, x5u, jwk and x5c in an assertion are not used', async () => {
    const [scene, target] = [await xaaScene(service), await trap()]
    const stranger = await idpKey('ES256', scene.idp.key.kid)
    const url = `http://127.0.0.1:${target.port}/`
    for (const header of [{ jku: url }, { x5u: url }, { jwk: stranger.jwk }, { x5c: ['MIIB'] }])
      expect(await tried(scene, stranger, header)).toBe('signature')
    expect(target.connections).toBe(0)
  })

  test('by default loopback and private addresses are not fetched, in any spelling', async () => {
    const guarded = await startService()
    try {
      const why = watchReasons(guarded)
      const target = await trap()
      const signer = await TestIdp.start()
      const client = await addXaaClient(guarded)
      const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0.0.0.0', '[::]']
      const urls = hosts.map((host) => `https://${host}:${target.port}/jwks.json`)
      for (const jwks_uri of [...urls, 'https://10.0.0.1/', 'https://169.254.169.254/', 'https://[fd00::1]/']) {
        const idp = anIdp({ jwks_uri, audience: guarded.issuer })
        await guarded.app.store.createIdp(idp)
        await addPolicy(guarded, idp.id, {})
        const { client_id } = client
        const audience = { aud: guarded.issuer, client_id, now: guarded.app.clock.now() }
        const assertion = await signer.assertion(audience, { claims: { iss: idp.issuer } })
        const answer = await redeemAssertion(guarded, client, assertion)
        expect([jwks_uri, answer.status, why(answer)]).toEqual([jwks_uri, 503, 'jwks_blocked_address'])
        const refreshed = await callAdmin(guarded, 'POST', `/admin/idps/${idp.id}/refresh-keys`)
        expect(refreshed.status).toBe(503)
      }
      const { issuer, jwks_uri } = signer
      expect((await callAdmin(guarded, 'POST', '/admin/idps', { issuer, jwks_uri })).status).toBe(400)
      const unencrypted = anIdp({ jwks_uri, issuer })
      await guarded.app.store.createIdp(unencrypted)
      expect((await callAdmin(guarded, 'POST', `/admin/idps/${unencrypted.id}/refresh-keys`)).status).toBe(503)
      expect([target.connections, signer.connections]).toEqual([0, 0])
    } finally {
      await guarded.close()
    }
  })
})
