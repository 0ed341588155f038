// Rules of the index that finds clients by issuer and subject of a workload token.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import type { Client, FederatedCredential } from '../../../src/records/client.ts'
import { aClient, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function federatedSubjectRules(bench: Bench): void {
  const fresh = () => `https://${newId()}.example`
  const created = async (...federated_credentials: FederatedCredential[]) => {
    const client = aClient({ token_endpoint_auth_method: 'federated_jwt', federated_credentials })
    await bench.store.createClient(client)
    return client
  }
  const find = async (subject: string, ...issuers: string[]) =>
    (await bench.store.findFederatedClients({ issuers, subject }))?.sort()
  const ids = (...clients: Client[]) => clients.map(({ client_id }) => client_id).sort()

  test('a client is found by issuer and subject only', async () => {
    const [issuer, other] = [fresh(), fresh()]
    const client = await created({ issuer, subject: 'repo:a/b:x' }, { issuer: other, subject: 'job' })
    expect(await find('repo:a/b:x', issuer)).toEqual(ids(client))
    expect(await find('job', other)).toEqual(ids(client))
    expect(await find('job', issuer)).toBeUndefined()
    expect(await find('repo:a/b:y', issuer)).toBeUndefined()
    expect(await find('repo:a/b:x')).toBeUndefined()
    expect(await find('job', issuer, other)).toEqual(ids(client))
  })

  test.each([
    ['repo:acme/*:environment:production', 'repo:acme/tools:environment:production'],
    ['repo:acme/*:environment:*', 'repo:acme/tools:environment:production'],
    ['*', 'mailer'],
    ['*:prod', 'mailer:prod'],
    ['a-*', 'a-1'],
    ['spiffe://prod.example.org/a/b/c/d/e/f/g/h/*', 'spiffe://prod.example.org/a/b/c/d/e/f/g/h/i'],
    ['a:b:c:d:e:f:g:h:i:j*', 'a:b:c:d:e:f:g:h:i:jk'],
    ['a/*', 'a/*'],
  ])('the pattern %s finds %s', async (subject, text) => {
    const issuer = fresh()
    const client = await created({ issuer, subject })
    expect(await find(text, issuer)).toEqual(ids(client))
    expect(await find(`${text}/more`, issuer)).toBeUndefined()
    expect(await find(`x${text}`, issuer)).toEqual(subject.startsWith('*') ? ids(client) : undefined)
  })

  test('every matching client is found once', async () => {
    const issuer = fresh()
    const exact = await created({ issuer, subject: 'a:b' }, { issuer, subject: 'a:*' })
    const pattern = await created({ issuer, subject: '*:b' })
    await created({ issuer, subject: 'a:*c' })
    expect(await find('a:b', issuer)).toEqual(ids(exact, pattern))
  })

  test('an update replaces the subjects of a client, and a deletion removes them', async () => {
    const issuer = fresh()
    const client = await created({ issuer, subject: 'old' })
    expect(await find('old', issuer)).toEqual(ids(client))
    expect(await find('new', issuer)).toBeUndefined()
    await bench.store.updateClient({ ...client, federated_credentials: [{ issuer, subject: 'new' }] })
    expect(await find('old', issuer)).toBeUndefined()
    expect(await find('new', issuer)).toEqual(ids(client))
    await bench.store.deleteClient({ by: 'ada', client_id: client.client_id, force: true, now: NOW, oldest: '' })
    expect(await find('new', issuer)).toBeUndefined()
    const again = await created({ issuer, subject: 'new' })
    expect(await find('new', issuer)).toEqual(ids(again))
  })

  test('a client that is not stored and a stale update leave the subjects unchanged', async () => {
    const issuer = fresh()
    const client = await created({ issuer, subject: 'one' })
    const changed = { ...client, federated_credentials: [{ issuer, subject: 'two' }] }
    expect(await bench.store.createClient(changed)).toBe('exists')
    expect(await bench.store.updateClient({ ...changed, version: 9 })).toBe('stale')
    expect([await find('one', issuer), await find('two', issuer)]).toEqual([ids(client), undefined])
  })
}
