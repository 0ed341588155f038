// The list of what needs attention, in the status.

import path from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { addProvider } from '../support/broker.ts'
import { envOf, runHere } from '../support/cli.ts'
import { machineToken } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { addClient, addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeEach(async () => {
  service = await startService({
    ...RECEIVERS_ALLOWED,
    SERVICE_SESSION_SECRET: 'a-session-secret-of-the-site-0123456789',
  })
  return () => service.close()
})

type Entry = Record<'kind' | 'severity' | 'text' | 'page', string>
const attention = async () => (await okAdmin<{ attention: Entry[] }>(service, 'GET', '/admin/system/status')).attention

const metric = async (series: string): Promise<number | undefined> => {
  const { text } = await service.app.scrape()
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined || line.endsWith(' NaN') ? undefined : Number(line.slice(series.length))
}

test('a fresh server needs no attention', async () => {
  expect(await attention()).toEqual([])
})

test('the busiest registered clients are listed with what they got, and invented ids only in the share', async () => {
  const [busy, calm] = [
    await addClient(service, { client_name: 'Busy' }, { limits: { requests_per_second: 1 } }),
    await addClient(service, { client_name: 'Calm' }),
  ]
  for (let i = 0; i < 6; i++) await machineToken(service, busy)
  await machineToken(service, calm)
  await machineToken(service, { ...calm, client_secret: 'wrong' })
  for (let i = 0; i < 2; i++) await machineToken(service, { client_id: 'invented', client_secret: 'wrong' })
  const top = await okAdmin(service, 'GET', '/admin/connections/top')
  expect(top).toMatchObject([
    {
      client_id: busy.client_id,
      client_name: 'Busy',
      requests: 6,
      issued: 2,
      refused: 4,
      limited: 4,
      share: 0.6,
      reason: 'client_requests_per_second',
    },
    { client_name: 'Calm', requests: 2, issued: 1, refused: 1, limited: 0, share: 0.2, reason: 'wrong_secret' },
  ])
  expect(await okAdmin(service, 'GET', '/admin/connections/top?limit=1')).toHaveLength(1)
})

describe('is listed, what is worst first:', () => {
  test('a client of which many requests are refused, also when its last request succeeded, but no invented client', async () => {
    const client = await addClient(service, { client_name: 'Robot', grant_types: ['client_credentials'] })
    for (let i = 0; i < 20; i++) {
      await machineToken(service, { ...client, client_secret: 'wrong' })
      await machineToken(service, { client_id: 'invented', client_secret: 'wrong' })
    }
    expect((await machineToken(service, client)).status).toBe(200)
    expect(await attention()).toEqual([
      {
        kind: 'client',
        severity: 'bad',
        text: 'Robot: 20 of 21 requests were refused within 5 minutes (wrong_secret).',
        page: `clients/${client.client_id}`,
      },
    ])
    service.advance(360)
    expect(await attention()).toEqual([])
  })

  test('a webhook whose deliveries fail, with the reason and the number of events that wait', async () => {
    const receiver = await TestReceiver.start()
    receiver.next.push(500, 500, 500)
    await okAdmin(service, 'POST', '/admin/webhooks', {
      url: receiver.url,
      events: ['client_suspended'],
      description: 'siem',
    })
    const client = await addClient(service)
    await callAdmin(service, 'PATCH', `/admin/clients/${client.client_id}/suspend`)
    await receiver.arrived(1)
    await vi.waitFor(async () =>
      expect(await attention()).toMatchObject([
        {
          kind: 'receiver',
          severity: 'bad',
          text: 'The webhook siem: deliveries fail (HTTP 500), 1 event waits.',
          page: 'webhooks',
        },
      ]),
    )
  })

  test('an identity provider without keys, a lockout, and a part of the state that cannot be read', async () => {
    await okAdmin(service, 'POST', '/admin/idps', {
      issuer: 'https://idp.invalid',
      jwks_uri: 'https://idp.invalid/jwks.json',
      name: 'Okta',
    })
    vi.spyOn(service.app.store, 'countLockouts').mockRejectedValue(new Error('away'))
    expect(await attention()).toMatchObject([
      { kind: 'provider', severity: 'bad', text: expect.stringContaining('The provider Okta cannot be used: jwks_') },
      { kind: 'unknown', severity: 'warn', text: 'The state of lockouts cannot be read now.' },
    ])
    vi.restoreAllMocks()
    vi.spyOn(service.app.store, 'countLockouts').mockResolvedValue(2)
    expect(await attention()).toMatchObject([
      { kind: 'provider' },
      { kind: 'lockouts', text: '2 addresses or accounts are locked out after failed logins.', page: 'lockouts' },
    ])
  })

  test('a purge that failed, and one that is overdue', async () => {
    const now = service.app.clock.now()
    const run = { started_at: now, finished_at: now, deleted: 0 }
    await service.app.store.savePurgeRun({ ...run, target: 'audit', ok: false })
    await service.app.store.savePurgeRun({ ...run, target: 'tokens', ok: true })
    expect((await attention()).map(({ text }) => text)).toEqual(['The last purge of audit failed.'])
    service.advance(3 * 86_400)
    expect((await attention()).map(({ text }) => text)).toContain('The last purge of tokens was 3 days ago.')
    expect(await metric('ext_purge_failed{target="audit"}')).toBe(1)
    const age = await metric('ext_purge_age_seconds{target="tokens"}')
    expect(age).toBeGreaterThanOrEqual(3 * 86_400)
    expect(age).toBeLessThanOrEqual(service.app.clock.now() - now)
  })

  test('a backup that is overdue, and a certificate of a provider that ends soon', async () => {
    await addProvider(service, { slug: 'drive', config_data: { token_url: 'https://drive.example.com/token' } })
    const end = service.app.clock.now() + 20 * 86_400
    service.app.certificates.note('drive.example.com', end)
    expect([await metric('ext_backup_age_seconds'), await attention()]).toEqual([undefined, []])
    expect(await metric('ext_provider_certificate_seconds{provider="drive"}')).toBeGreaterThan(19.9 * 86_400)
    await runHere(['backup', '--to', path.join(tempFolder(), 'a.backup')], envOf(service))
    expect(await metric('ext_backup_age_seconds')).toBeLessThan(60)
    expect(await attention()).toEqual([])
    service.advance(10 * 86_400)
    expect(await attention()).toMatchObject([
      { kind: 'backup', severity: 'warn', text: 'The last backup was 10 days ago.' },
      {
        kind: 'certificate',
        text: `The certificate of the provider drive ends on ${new Date(end * 1000).toISOString().slice(0, 10)}.`,
      },
    ])
  })
})

test('the resources of a disabled user are refused because of that', async () => {
  const user = await addUser(service)
  const resource = { slug: 'notes', uri: 'https://notes.example.com/mcp', backend_kind: 'mint' }
  await okAdmin(service, 'POST', '/admin/resources', resource)
  const access = () => okAdmin(service, 'GET', `/admin/users/${user.id}/access`)
  expect(await access()).toMatchObject([{ allowed: true }])
  await okAdmin(service, 'PATCH', `/admin/users/${user.id}/disable`)
  expect(await access()).toMatchObject([{ allowed: false, refused_by: 'user_inactive', scopes: [] }])
})

test('the page of a client shows its last token', async () => {
  const client = await addClient(service, { grant_types: ['client_credentials'] })
  const shown = () => okAdmin<Record<string, unknown>>(service, 'GET', `/admin/clients/${client.client_id}`)
  expect((await shown())['last_used_at']).toBeUndefined()
  await machineToken(service, client)
  await vi.waitFor(async () =>
    expect(await shown()).toMatchObject({ tokens_24h: 1, last_used_at: expect.stringMatching(/Z$/) }),
  )
})
