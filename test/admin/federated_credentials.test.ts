// Federated credentials of clients in the admin API, on the command line and in a set-up document.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { federatedFlag } from '../../src/admin/clients/client_flags.ts'
import { callAdmin, eventsOf, okAdmin } from '../support/admin.ts'
import { envOf, okHere, runHere } from '../support/cli.ts'
import { tempFile } from '../support/folder.ts'
import { startService, type TestService } from '../support/service.ts'
import { addFederated } from '../support/workload.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const CI = { issuer: 'https://token.actions.githubusercontent.com', subject: 'repo:acme/tools:environment:production' }
const FULL = {
  ...CI,
  audience: 'api://ci',
  claims: { ref: 'refs/heads/*', repository: 'acme/tools' },
  jwks_uri: 'https://keys.example.com/jwks',
}
const SPIFFE = {
  issuer: 'spiffe://prod.example.org',
  subject: 'spiffe://prod.example.org/ns/*/sa/x',
  jwks_uri: 'https://spire.example.org/bundle',
}
const machine = { client_name: 'Job', grant_types: ['client_credentials'], token_endpoint_auth_method: 'federated_jwt' }
const create = (fields: object) => callAdmin(service, 'POST', '/admin/clients', { ...machine, ...fields })

describe('the admin API', () => {
  test('credentials are created, shown and replaced, and the client has no secret', async () => {
    const { status, body } = await create({ federated_credentials: [CI, FULL, SPIFFE] })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      token_endpoint_auth_method: 'federated_jwt',
      federated_credentials: [CI, FULL, SPIFFE],
    })
    expect([body['client_secret'], body['secrets']]).toEqual([undefined, undefined])
    const path = `/admin/clients/${body['client_id']}`
    const changed = await okAdmin(service, 'PATCH', path, { ...body, federated_credentials: [FULL] })
    expect(changed['federated_credentials']).toEqual([FULL])
    expect(await okAdmin(service, 'GET', path)).toEqual(changed)
    const [event] = await eventsOf(service, 'client_updated')
    expect(event?.detail).toEqual({ fields: ['federated_credentials'] })
    expect((await callAdmin(service, 'POST', `${path}/rotate-secret`)).status).toBe(400)
  })

  test.each<[string, unknown]>([
    ['no list', CI],
    ['no entry', []],
    ['21 entries', Array(21).fill(CI)],
    ['no issuer', [{ subject: 'x' }]],
    ['no subject', [{ issuer: CI.issuer }]],
    ['an empty subject', [{ ...CI, subject: '' }]],
    ['a subject of 1025 characters', [{ ...CI, subject: 'x'.repeat(1025) }]],
    ['a control character', [{ ...CI, subject: 'a\nb' }]],
    ['an unknown member', [{ ...CI, subjects: 'x' }]],
    ['an issuer that is no URL', [{ ...CI, issuer: 'github' }]],
    ['an issuer with a query', [{ ...CI, issuer: `${CI.issuer}?x=1` }]],
    ['an issuer with a fragment', [{ ...CI, issuer: `${CI.issuer}#x` }]],
    ['an issuer with a user', [{ ...CI, issuer: 'https://ada@ci.example.com' }]],
    ['an issuer over plain http', [{ ...CI, issuer: 'http://ci.example.com' }]],
    ['a jwks_uri over plain http', [{ ...CI, jwks_uri: 'http://ci.example.com/jwks' }]],
    ['a jwks_uri that is no URL', [{ ...CI, jwks_uri: 'data:,{}' }]],
    ['an empty audience', [{ ...CI, audience: '' }]],
    ['an audience that is a list', [{ ...CI, audience: ['a'] }]],
    ['claims that are a list', [{ ...CI, claims: ['ref'] }]],
    ['a claim that is no text', [{ ...CI, claims: { ref: true } }]],
    ['an empty claim', [{ ...CI, claims: { ref: '' } }]],
    ['21 claims', [{ ...CI, claims: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`c${i}`, 'x'])) }]],
    ['a trust domain without jwks_uri', [{ ...SPIFFE, jwks_uri: undefined }]],
    ['a subject of another trust domain', [{ ...SPIFFE, subject: 'spiffe://test.example.org/x' }]],
    [
      'a trust domain that is the start of another one',
      [{ ...SPIFFE, subject: 'spiffe://prod.example.org.evil.com/x' }],
    ],
    ['a trust domain with a path', [{ ...SPIFFE, issuer: 'spiffe://prod.example.org/x' }]],
    ['a trust domain with a *', [{ ...SPIFFE, issuer: 'spiffe://*', subject: 'spiffe://*/x' }]],
  ])('refuses %s, and stores nothing', async (_, federated_credentials) => {
    const before = (await okAdmin<unknown[]>(service, 'GET', '/admin/clients?limit=1000')).length
    const { status, body } = await create({ federated_credentials })
    expect([status, String(body['error_description'])]).toEqual([400, expect.stringContaining('federated_credentials')])
    expect((await okAdmin<unknown[]>(service, 'GET', '/admin/clients?limit=1000')).length).toBe(before)
  })

  test('federated_jwt requires credentials, and other methods must not have them', async () => {
    const needed = await create({})
    expect([needed.status, needed.body['error']]).toEqual([400, 'invalid_client_metadata'])
    const method = { token_endpoint_auth_method: 'client_secret_basic', federated_credentials: [CI] }
    expect((await create(method)).body['error']).toBe('invalid_client_metadata')
    const { client_id } = await okAdmin(service, 'POST', '/admin/clients', {
      ...machine,
      token_endpoint_auth_method: 'client_secret_basic',
    })
    const patched = await callAdmin(service, 'PATCH', `/admin/clients/${client_id}`, { federated_credentials: [CI] })
    expect([patched.status, patched.body['error']]).toEqual([400, 'invalid_client_metadata'])
  })
})

describe('the command line', () => {
  const read = (...values: string[]) => federatedFlag.read?.(values)

  test('a credential is one line, and a value may contain a comma', () => {
    const line =
      'issuer=https://ci.example.com,subject=repo:a/b:ref:x=1,claim.ref=refs/heads/a,b,claim.job=x,audience=api://ci'
    expect(read(line, 'subject=x')).toEqual([
      {
        issuer: 'https://ci.example.com',
        subject: 'repo:a/b:ref:x=1',
        audience: 'api://ci',
        claims: { ref: 'refs/heads/a,b', job: 'x' },
      },
      { subject: 'x' },
    ])
  })

  test('a misspelled member is refused, and does not become a part of the value before it', async () => {
    const command = 'admin client create --name Job --auth-method federated_jwt --grant-types client_credentials'
    const line = `issuer=${CI.issuer},subject=${CI.subject},audiance=api`
    const { code, stderr } = await runHere([...command.split(' '), '--federated', line], envOf(service))
    expect([code, stderr]).toEqual([2, expect.stringContaining('audiance')])
  })

  test('a client with several credentials is created and changed', async () => {
    const env = envOf(service)
    const command = 'admin client create --name Job --auth-method federated_jwt --grant-types client_credentials --json'
    const flags = [
      ...['--federated', `issuer=${CI.issuer},subject=${CI.subject}`],
      ...[
        '--federated',
        `issuer=${FULL.issuer},subject=${FULL.subject},audience=${FULL.audience},jwks_uri=${FULL.jwks_uri},claim.ref=refs/heads/*,claim.repository=acme/tools`,
      ],
    ]
    const made = JSON.parse(await okHere([...command.split(' '), ...flags], env))
    expect(made.federated_credentials).toEqual([CI, FULL])
    const update = ['admin', 'client', 'update', '--id', made.client_id, '--federated']
    await okHere([...update, `issuer=${CI.issuer},subject=other`], env)
    const shown = await okAdmin(service, 'GET', `/admin/clients/${made.client_id}`)
    expect(shown['federated_credentials']).toEqual([{ issuer: CI.issuer, subject: 'other' }])
    const { code, stderr } = await runHere([...update, 'nonsense'], env)
    expect([code, stderr]).toEqual([2, expect.stringContaining('federated_credentials')])
  })

  test('applying an export changes nothing, and a changed credential is a change', async () => {
    const { client_id } = await addFederated(service, [FULL], { client_id: 'exported' })
    const env = envOf(service)
    const document = await okHere(['admin', 'export'], env)
    expect(document).toContain(FULL.jwks_uri)
    const apply = async (text: string) => okHere(['admin', 'apply', '-f', tempFile('setup.yaml', text)], env)
    expect(await apply(document)).not.toContain(client_id)
    expect(await apply(document.replaceAll(FULL.jwks_uri, 'https://keys.example.com/new'))).toContain(client_id)
    const shown = await okAdmin(service, 'GET', `/admin/clients/${client_id}`)
    expect(shown['federated_credentials']).toEqual([{ ...FULL, jwks_uri: 'https://keys.example.com/new' }])
  })
})
