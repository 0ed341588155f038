// The parts scenario: the cost of each building block of a token on this machine, measured with the code of the service.
import path from 'node:path'
import { loadConfig } from '../../src/config/load.ts'
import { headerSegment, signJws, thumbprint, verifySignature } from '../../src/crypto/jws.ts'
import { openCrypto } from '../../src/crypto/pool.ts'
import { digest, newBearer, newId } from '../../src/lib/id.ts'
import type { Issuance } from '../../src/records/issuance.ts'
import { prepareDatabase } from '../../src/store/database.ts'
import { createStore } from '../../src/store/index.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { openLogger } from '../../src/telemetry/logger.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { newKeyPair } from '../load/signer.ts'
import { aligned } from '../report/table.ts'
import { median } from '../statistics.ts'
import { tempDir } from './children.ts'

/** Number of measurements of each part, and their approximate duration. */
const RUNS = 15
const RUN_MS = 20
const BATCHES = [1, 64, 256]

interface Part {
  name: string
  /** Number of items that one run processes concurrently. */
  count: number
  run(): unknown
}

const { privateKey, publicKey, jwk } = newKeyPair()
const signingKey = {
  kid: newId(),
  alg: 'ES256' as const,
  key: privateKey,
  header: headerSegment('at+jwt', 'ES256', 'k'),
}
const NOW = Math.floor(Date.now() / 1000)
const issuance = (): Issuance => ({
  id: newId(),
  grant_type: 'client_credentials',
  client_id: 'AZ2xq0cQeXKxkFhcmJp6Hw',
  sub: 'AZ2xq0cQeXKxkFhcmJp6Hw',
  resource: 'https://mcp.example.com/mcp',
  scope: 'mcp:read mcp:write',
  issued_at: NOW,
  expires_at: NOW + 3600,
  kid: signingKey.kid,
  is_agent: false,
  ip: '127.0.0.1',
})
const { id, sub, resource, scope, issued_at, expires_at } = issuance()
const claims = {
  iss: 'http://localhost:9000',
  sub,
  aud: [resource],
  exp: expires_at,
  iat: issued_at,
  jti: id,
  client_id: sub,
  scope,
}
const payload = JSON.stringify(claims)

/** Measures every part. Returns the table: microseconds per item. */
export async function measureParts(): Promise<string> {
  const logging = loadConfig(undefined, {}).config.observability.logging
  const log = openLogger({ ...logging, level: 'warn' })
  const file = path.join(tempDir(), 'parts.db')
  prepareDatabase(file, true, NOW)
  const lanes = openCrypto({ threads: 0 }, log)
  const store = createStore(openSqlite(file, { wal: true, serves: false }, log), new Metrics())
  try {
    const lines: string[][] = []
    for (const part of parts(lanes, store)) {
      const micros = await costOf(part)
      lines.push([part.name, digits(micros / part.count), part.count > 1 ? digits(micros) : ''])
    }
    return aligned([['part', 'us', 'us for the batch'], ...lines], new Set([0]))
  } finally {
    await Promise.all([lanes.close(), store.driver.close()])
  }
}

const digits = (micros: number) => micros.toFixed(micros < 10 ? 2 : 1)
const atOnce = (count: number, run: () => Promise<unknown>) => Promise.all(Array.from({ length: count }, run))

function parts(lanes: ReturnType<typeof openCrypto>, store: ReturnType<typeof createStore>): Part[] {
  const signed = signJws('ES256', privateKey, signingKey.header, payload)
  const at = signed.lastIndexOf('.')
  const [input, signature] = [signed.slice(0, at), signed.slice(at + 1)]
  const verification = { alg: 'ES256' as const, jwk, thumbprint: thumbprint(jwk) as string, input, signature }
  const value = newBearer('rt').value
  const batched = (name: string, run: () => Promise<unknown>) =>
    BATCHES.map((count): Part => ({ name: `${name}, ${count} at once`, count, run: () => atOnce(count, run) }))
  return [
    { name: 'id (UUIDv7)', count: 1, run: newId },
    { name: 'SHA-256 of a secret', count: 1, run: () => digest(value) },
    { name: 'ES256 sign', count: 1, run: () => signJws('ES256', privateKey, signingKey.header, payload) },
    { name: 'ES256 verify', count: 1, run: () => verifySignature('ES256', publicKey, input, signature) },
    ...batched('sign in a crypto thread', () => lanes.sign(signingKey, claims)),
    ...batched('verify in a crypto thread', () => lanes.verify(verification)),
    ...batched('commit of issuance rows', () => store.recordIssuance(issuance())),
  ]
}

/** Microseconds of one run of a part: the median of the measurements, after a warm-up. */
async function costOf({ run }: Part): Promise<number> {
  let repeat = 1
  const micros: number[] = []
  while (micros.length <= RUNS) {
    const startedMs = performance.now()
    for (let i = 0; i < repeat; i++) {
      const result = run()
      if (result instanceof Promise) await result
    }
    const tookMs = performance.now() - startedMs
    if (tookMs < RUN_MS / 2) repeat *= 2
    else micros.push((tookMs * 1000) / repeat)
  }
  return median(micros.slice(1))
}
