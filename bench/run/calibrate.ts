// Calibration: the speed of basic operations on this machine, measured in the same run, so that results of different machines and days can be compared.
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import path from 'node:path'
import { headerSegment, signJws, verifySignature } from '../../src/crypto/jws.ts'
import { writeAll } from '../../src/lib/durable.ts'
import type { Alg } from '../../src/records/jwk.ts'
import { newKeyPair } from '../load/signer.ts'
import type { Report } from '../report/report.ts'
import { median } from '../statistics.ts'
import { tempDir } from './children.ts'
import type { Sample } from './sample.ts'

/** Approximate duration of each calibration. */
const MILLISECONDS = 250
const PAGE = Buffer.alloc(4096, 7)
const PAYLOAD = JSON.stringify({
  iss: 'http://localhost:9000',
  sub: 'x'.repeat(22),
  jti: 'y'.repeat(22),
  scope: 'mcp:read',
})

/** The number of sequential executions per second. */
function ratePerSecond(run: () => void): number {
  run()
  const startedMs = performance.now()
  let count = 0
  for (; performance.now() - startedMs < MILLISECONDS; count++) run()
  return (count * 1000) / (performance.now() - startedMs)
}

const signRate = (alg: Alg, key: KeyObject) => {
  const header = headerSegment('at+jwt', alg, 'calibration')
  return ratePerSecond(() => signJws(alg, key, header, PAYLOAD))
}

function verifyRate(privateKey: KeyObject, publicKey: KeyObject): number {
  const signed = signJws('ES256', privateKey, headerSegment('at+jwt', 'ES256', 'calibration'), PAYLOAD)
  const at = signed.lastIndexOf('.')
  return ratePerSecond(() => verifySignature('ES256', publicKey, signed.slice(0, at), signed.slice(at + 1)))
}

function fsyncRate(): number {
  const file = openSync(path.join(tempDir(), 'fsync'), 'w')
  try {
    return ratePerSecond(() => {
      writeAll(file, PAGE)
      fdatasyncSync(file)
    })
  } finally {
    closeSync(file)
  }
}

const SPEEDS = 3
/** ES256 signatures per second on this thread: the speed of the machine at this time. The median, because one measurement may be interrupted. */
export function measureSpeed(): number {
  const { privateKey } = newKeyPair()
  return median(Array.from({ length: SPEEDS }, () => signRate('ES256', privateKey)))
}

/** Measures signatures and disk on this thread; `http` is a measurement of the cheapest request of the service. */
export function calibrate(http: Sample | undefined): Report['calibration'] {
  const { privateKey, publicKey } = newKeyPair()
  const rsa = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return {
    es256_sign_per_s: signRate('ES256', privateKey),
    es256_verify_per_s: verifyRate(privateKey, publicKey),
    rs256_sign_per_s: signRate('RS256', createPrivateKey(rsa.privateKey)),
    fsync_per_s: fsyncRate(),
    http_per_s: http?.per_s ?? null,
    http_cpu_us: http?.cpu_us.total ?? null,
  }
}
