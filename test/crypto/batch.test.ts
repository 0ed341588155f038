import { expect, test } from 'vitest'
import { type CryptoJob, packJobs, unpackJobs } from '../../src/crypto/batch.ts'

const verification = (input: string): CryptoJob => ({
  alg: 'ES256',
  jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y\n"' },
  thumbprint: 't',
  input,
  signature: 's',
})

test('jobs come out as they went in, whatever their keys are called and their texts hold', () => {
  const jobs: CryptoJob[] = [
    { kid: 'service account {x}', payload: JSON.stringify({ sub: 'ä "\n{} 0 ', n: [1, 2] }) },
    verification('a\nb'),
    { kid: '7', payload: '{}' },
    { kid: 'service account {x}', payload: '{"a":1}' },
    verification('1 {}'),
  ]
  const batch = packJobs(jobs)
  expect(batch.kids).toEqual(['service account {x}', '7'])
  expect(unpackJobs(structuredClone(batch))).toEqual(jobs)
})
