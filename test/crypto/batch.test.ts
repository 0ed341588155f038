import { expect, test } from 'vitest'
import { type CryptoJob, packJobs, unpackJobs } from '../../src/crypto/batch.ts'

const verification = (input: string): CryptoJob => ({
  alg: 'ES256',
  jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y\n"' },
  thumbprint: 't',
  input,
  signature: 's',
})

test('jobs are unpacked unchanged, whatever their key names and texts contain', () => {
  const jobs: CryptoJob[] = [
    { header: 'service account {x}', payload: JSON.stringify({ sub: 'ä "\n{} 0 ', n: [1, 2] }) },
    verification('a\nb'),
    { header: '7', payload: '{}' },
    { header: 'service account {x}', payload: '{"a":1}' },
    verification('1 {}'),
  ]
  const batch = packJobs(jobs)
  expect(batch.headers).toEqual(['service account {x}', '7'])
  expect(unpackJobs(structuredClone(batch))).toEqual(jobs)
})
