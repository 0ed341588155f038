import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { type CryptoJob, type LocalKey, packJobs, signingKeysOf, unpackJobs } from '../../src/crypto/batch.ts'

const generateKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const verification = (input: string): CryptoJob => ({
  alg: 'ES256',
  jwk: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y\n"' },
  thumbprint: 't',
  input,
  signature: 's',
})

const [one, two] = ['1', '2'].map((name): LocalKey => ({ name, alg: 'ES256', key: generateKey() })) as [
  LocalKey,
  LocalKey,
]
const keyOf = (name: string) => [one, two].find((each) => each.name === name)

test('jobs are unpacked unchanged, whatever their headers and texts contain', () => {
  const jobs: CryptoJob[] = [
    { key: one, header: 'a header {x}', payload: JSON.stringify({ sub: 'ä "\n{} 0 ', n: [1, 2] }) },
    verification('a\nb'),
    { key: one, header: '7', payload: '{}', idToken: { key: two, header: '8', payload: '{"b":2}' } },
    { key: two, header: 'a header {x}', payload: '{"a":1}' },
    verification('1 {}'),
  ]
  const batch = packJobs(jobs)
  expect(batch.signers.map(({ header, key }) => [header, key])).toEqual([
    ['a header {x}', '1'],
    ['7', '1'],
    ['8', '2'],
    ['a header {x}', '2'],
  ])
  expect(unpackJobs(structuredClone(batch), keyOf)).toEqual(jobs)
  expect(signingKeysOf(jobs)).toEqual([one, two])
  expect(unpackJobs(batch, (name) => (name === '2' ? undefined : keyOf(name)))).toBeUndefined()
  expect(unpackJobs(packJobs([]), keyOf)).toEqual([])
})
