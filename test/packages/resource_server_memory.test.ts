// The package for resource servers over many distinct tokens: memory stays the same, because old tokens are forgotten. Prints what a
// verification costs. SERVICE_VERIFICATIONS sets the number of tokens; a million takes minutes.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { createVerifier } from '../../packages/resource-server/src/index.ts'

const [ISSUER, RESOURCE] = ['https://auth.example.com', 'https://notes.example.com/mcp']
const COUNT = Number(process.env['SERVICE_VERIFICATIONS'] ?? 40_000)
const CACHE = 5_000

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test(`${COUNT} distinct tokens do not add memory, and repeated ones are verified without the key`, {
  timeout: 1_800_000,
}, async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }
  const answers: Record<string, object> = {
    '/.well-known/oauth-authorization-server': { issuer: ISSUER, jwks_uri: `${ISSUER}/jwks` },
    '/jwks': keys,
  }
  const fetcher: typeof fetch = async (url) => Response.json(answers[new URL(String(url)).pathname])
  const verifier = createVerifier({ issuer: ISSUER, resource: RESOURCE, cacheSize: CACHE, fetch: fetcher })
  const now = Math.floor(Date.now() / 1000)
  const tokenOf = (jti: number) =>
    new SignJWT({ client_id: 'c', scope: 'notes:read', jti: String(jti) })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'one' })
      .setIssuer(ISSUER)
      .setAudience(RESOURCE)
      .setSubject('u')
      .setIssuedAt(now)
      .setExpirationTime(now + 3600)
      .sign(privateKey)
  const ask = (token: string) =>
    verifier.verify({ method: 'POST', url: '/mcp', headers: { authorization: `Bearer ${token}` } })
  /** CPU microseconds of this process for each of `count` runs. */
  const cost = async (count: number, work: () => Promise<unknown>) => {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / count
  }
  const heap = () => {
    collect()
    return process.memoryUsage().heapUsed
  }

  let full = 0
  let distinct = 0
  let token = ''
  const chunk = 1000
  for (let done = 0; done < COUNT; done += chunk) {
    const tokens = await Promise.all(Array.from({ length: chunk }, (_, i) => tokenOf(done + i)))
    distinct += (await cost(chunk, () => Promise.all(tokens.map(ask)))) / (COUNT / chunk)
    token = tokens.at(-1) ?? ''
    if (done + chunk === 2 * CACHE) full = heap()
  }
  const grown = heap() - full
  const repeated = await cost(100_000, async () => {
    for (let i = 0; i < 100_000; i++) await ask(token)
  })
  process.stderr.write(
    `verification: ${distinct.toFixed(0)} us of CPU for a new token, ${repeated.toFixed(1)} us for a known one; heap grew by ${(grown / 2 ** 20).toFixed(1)} MiB over ${COUNT - 2 * CACHE} tokens\n`,
  )
  expect(grown).toBeLessThan(4 * 2 ** 20)
})
