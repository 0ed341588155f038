// Attacks on resource servers that use the package (attacks.md, section W): proofs, and what their answers contain.
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireToken } from '../../packages/resource-server/src/express.ts'
import { createVerifier } from '../../packages/resource-server/src/index.ts'
import { ProofsFull, ProofUsed, SeenProofs } from '../../packages/resource-server/src/seen_proofs.ts'
import { base64url, type ProofKey, proofKey, proofOf } from '../support/dpop.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { machineToken } from '../support/flow.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { Wire } from '../support/wire.ts'

/** Express has no types of its own. */
const express = createRequire(import.meta.url)('express') as () => {
  use(...handlers: unknown[]): void
  listen(port: number, host: string): Server
}

const ORIGIN = 'https://notes.example.com'
let service: TestService
let key: ProofKey
let token: string
/** The address of an Express server with the package. */
let port: number
beforeAll(async () => {
  service = await startService()
  await addResource(service, { uri: `${ORIGIN}/mcp` })
  key = await proofKey()
  const asked = { resource: `${ORIGIN}/mcp`, scope: 'mcp:read' }
  const { body } = await machineToken(service, await addClient(service), asked, { dpop: await proofOf(service, key) })
  token = String(body['access_token'])
  const verifier = createVerifier({ issuer: service.issuer, resource: `${ORIGIN}/mcp` })
  const app = express()
  app.use(requireToken(verifier), (_request: unknown, response: { end(text: string): void }) => response.end('served'))
  const http = app.listen(0, '127.0.0.1')
  await once(http, 'listening')
  atEndOfFile(() => void http.close())
  port = (http.address() as AddressInfo).port
})
afterAll(() => service.close())

async function proof(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) {
  const ath = Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token))).toString('base64url')
  const iat = Math.floor(Date.now() / 1000)
  return proofOf(service, key, { header, claims: { htu: `${ORIGIN}/mcp`, ath, iat, ...claims } })
}
/** The answer to a request with this path as it is: its status, its challenge, and its headers. */
async function ask(dpop: string, path = '/mcp') {
  const lines = [`POST ${path} HTTP/1.1`, 'host: notes.example.com', 'content-length: 0']
  const wire = await Wire.open(port)
  wire.send([...lines, `authorization: DPoP ${token}`, `dpop: ${dpop}`, '', ''].join('\r\n'))
  const { status, headers } = await wire.answer()
  wire.leave()
  return { status, headers, challenge: headers['www-authenticate']?.join() ?? '' }
}
const REFUSED = /^DPoP .*error="invalid_dpop_proof", error_description="[\x20\x21\x23-\x5b\x5d-\x7e]+"$/

const EXTENSIONS = ['a\r\nset-cookie: x=1', 'a"b', 'ü\u2028', '\u0000', 'x'.repeat(20_000)]
test.each(EXTENSIONS)(
  'W01 a proof with the critical extension %j is refused with a constant description',
  async (name) => {
    const [, claims = '', signature = ''] = (await proof()).split('.')
    const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk, crit: [name], [name]: 1 }
    const { status, challenge, headers } = await ask([base64url(header).slice(0, 8000), claims, signature].join('.'))
    expect([status, challenge]).toEqual([401, expect.stringMatching(REFUSED)])
    expect(headers).not.toHaveProperty('set-cookie')
    expect((await ask(await proof())).status).toBe(200)
  },
)

test.each(['//x/mcp', '//x/../mcp', '/x/../mcp', '/x/%2e%2e/mcp', '/mcp/', '/mcp/.', '/x\\..\\mcp'])(
  'W02 a proof for /mcp is refused at %s',
  async (path) => {
    expect((await ask(await proof(), path)).challenge).toMatch(REFUSED)
    expect((await ask(await proof(), '/mcp?x=//y')).status).toBe(200)
  },
)

test.each([[7], [''], [['a']], [null], [{}]])('W02 a proof whose jti is %j is refused', async (jti) => {
  expect((await ask(await proof({ jti }))).challenge).toMatch(REFUSED)
})

test('W09 subjects with very many proofs are refused further ones, and others are served in the room that is left', () => {
  const seen = new SeenProofs()
  const now = 1_800_000_000
  const add = (subject: string, i: number, at = now) => seen.add(`${subject}.${i}`, { subject, until: at + 65 }, at)
  /** Adds proofs of a subject, each with another key, until it is refused. Returns their number. */
  const fill = (subject: string, most = 200_000, at = now) => {
    for (let i = 0; i < most; i++)
      try {
        add(subject, i, at)
      } catch (error) {
        expect(error).toBeInstanceOf(ProofsFull)
        return i
      }
    return most
  }
  const alone = fill('a')
  expect(alone).toBeGreaterThan(90_000)
  expect(alone).toBeLessThan(100_000)
  expect(fill('b')).toBeGreaterThan(alone / 4)
  for (let i = 0; i < 60; i++) expect(fill(`hog ${i}`), String(i)).toBeGreaterThan(50)
  for (let i = 0; i < 60; i++) expect(fill(`other ${i}`, 20), String(i)).toBe(20)
  // What was stored is still a replay, also of a subject that is refused.
  for (const subject of ['a', 'hog 59', 'other 59']) expect(() => add(subject, 0)).toThrow(ProofUsed)
  expect(fill('a', 200_000, now + 66)).toBe(alone)
})

test('W09 a jti that is used again after its end takes its bytes once', () => {
  const seen = new SeenProofs()
  const now = 1_800_000_000
  // The first entry is not too old yet, so those after it are not deleted.
  seen.add('first', { subject: 'other', until: now + 1e9 }, now)
  for (let i = now; i < now + 600_000; i += 2) seen.add('again', { subject: 's', until: i }, i)
})
