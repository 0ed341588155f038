// Whom a fetch believes: the certificate must be trusted and be for the host of the URL, whatever address is behind it.
import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import path from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { tempFolder } from '../support/folder.ts'
import { cert, key } from './certificate.ts'
import { FRAMING, faultOf, fetchFrom, flood, localFetcher, servePeer } from './peers.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const names: string[] = []
const tlsPeer = () => {
  const SNICallback = (name: string, done: (error: null) => void) => {
    names.push(name)
    done(null)
  }
  const server = createServer({ key, cert, SNICallback })
  return servePeer((request, response) => response.end(request.headers.host), server, 'https')
}
const toLoopback = { resolve: async () => ['127.0.0.1'] }

test('an untrusted certificate gives tls_failed, and nothing is sent', async () => {
  const peer = await tlsPeer()
  const fault = await faultOf(fetchFrom(localFetcher(toLoopback), `https://idp.test:${peer.port}/`))
  expect([fault.reason, fault.message]).toEqual([
    'tls_failed',
    `fetch from idp.test:${peer.port}: tls_failed (DEPTH_ZERO_SELF_SIGNED_CERT)`,
  ])
  expect(peer.asked).toEqual([])
})

test('no environment variable disables the certificate check', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  const peer = await tlsPeer()
  expect((await faultOf(fetchFrom(localFetcher(toLoopback), `https://idp.test:${peer.port}/`))).reason).toBe(
    'tls_failed',
  )
  expect(peer.asked).toEqual([])
})

test('https to a port that speaks plain http gives tls_failed', async () => {
  const peer = await servePeer((_, response) => response.end())
  expect((await faultOf(fetchFrom(localFetcher(), peer.url.replace('http', 'https')))).reason).toBe('tls_failed')
})

/** Fetches as a process whose operator trusts our certificate; gives the body, or the reason, or what `shown` is. */
async function fetchTrusting(url: string, shown = 'String(body)'): Promise<string> {
  const authorities = path.join(tempFolder(), 'authorities.pem')
  writeFileSync(authorities, cert)
  const script = `
    import { createFetcher } from ${JSON.stringify(path.join(packageRoot, 'dist/src/net/fetch.js'))}
    import { PeerCertificates } from ${JSON.stringify(path.join(packageRoot, 'dist/src/net/certificates.js'))}
    const certificates = new PeerCertificates()
    const fetcher = createFetcher({ allowPrivate: true, userAgent: 'service-test', resolve: async () => ['127.0.0.1'], certificates })
    const request = { maxBytes: 10_000, timeoutMs: 5000 }
    console.log(await fetcher.fetch(${JSON.stringify(url)}, request).then(({ body }) => ${shown}, ({ message }) => message))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: authorities },
  })
  const [out, err] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()])
  return Buffer.concat([...out, ...err])
    .toString()
    .trim()
}

test('a trusted certificate for the host is accepted, and the TLS server name and the Host header are those of the URL', async () => {
  const peer = await tlsPeer()
  names.length = 0
  expect(await fetchTrusting(`https://idp.test:${peer.port}/`)).toBe(`idp.test:${peer.port}`)
  expect(names).toEqual(['idp.test'])
})

test('the end of the certificate of a peer is noted', async () => {
  const peer = await tlsPeer()
  const noted = await fetchTrusting(`https://idp.test:${peer.port}/`, 'JSON.stringify(certificates.all())')
  const end = Date.parse(new X509Certificate(cert).validTo) / 1000
  expect(JSON.parse(noted)).toEqual({ [`idp.test:${peer.port}`]: end })
})

test.each(['other.test', 'sub.idp.test', '127.0.0.1'])(
  'a trusted certificate for another host is refused for %s',
  async (host) => {
    const peer = await tlsPeer()
    expect(await fetchTrusting(`https://${host}:${peer.port}/`)).toMatch(/tls_failed \(ERR_TLS_CERT_ALTNAME_INVALID\)$/)
    expect(peer.asked).toEqual([])
  },
)

test.each(Object.entries(FRAMING))('endless %s give too_large over TLS too', async (_, framing) => {
  let count = { sent: 0 }
  const answer: RequestListener = ({ socket }) => {
    count = flood(socket, framing)
  }
  const peer = await servePeer(answer, createServer({ key, cert }), 'https')
  expect(await fetchTrusting(`https://idp.test:${peer.port}/`)).toMatch(/: too_large$/)
  expect(count.sent).toBeLessThan(16_000_000)
})
