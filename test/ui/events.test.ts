// The pages of webhooks and streams: what waits, what a receiver answered, and what operators do about it.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { TOKEN_REVOKED } from '../../src/events/event_types.ts'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { field, openAdmin, press, rowsOf, said } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService(RECEIVERS_ALLOWED)
})
afterAll(() => service.close())

describe(`in ${CHROMIUM}`, () => {
  test('webhooks: shows the failed attempt and the event that waits, and says whether the receiver accepts it when it is sent again', async ({
    reopen,
  }) => {
    const receiver = await TestReceiver.start()
    receiver.next.push(503, 503)
    const hook = { url: receiver.url, events: ['client_suspended'] }
    const { id } = await okAdmin<{ id: string }>(service, 'POST', '/admin/webhooks', hook)
    const { client_id } = await addClient(service)
    await okAdmin(service, 'PATCH', `/admin/clients/${client_id}/suspend`)
    await receiver.arrived(1)
    service.advance(3)
    await receiver.arrived(2)
    const attempts = () => okAdmin<{ deliveries: object[] }>(service, 'GET', `/admin/webhooks/${id}`)
    await expect.poll(async () => (await attempts()).deliveries.length).toBe(2)
    // No further attempt comes between those of the page: the time of the next one is stored with the second one.
    service.advance(-60)
    const { page } = await openAdmin(reopen, service, 'webhooks')
    await page.getByText('HTTP 503').first().waitFor()
    expect((await rowsOf(page))[0]).toMatch(/failing[\s\S]*1\s+since/)
    await page.locator('summary', { hasText: 'HTTP 503' }).click()
    receiver.next.push(500)
    await press(page, 'Send again')
    await press(page, 'Send')
    await page.getByText('The receiver did not accept the event: HTTP 500.').waitFor()
    await press(page, 'Send')
    await said(page, 'The receiver accepted the event.')
    expect(receiver.got.map(({ status }) => status)).toEqual([503, 503, 500, 204])
    await page.getByRole('button', { name: 'Payload' }).first().click()
    await page.getByRole('dialog').getByText(`"client_id": "${client_id}"`).waitFor()
    await press(page, 'Close')
    receiver.answer = (response) => response.writeHead(400).end('no channel')
    await press(page, 'Send a test event')
    const dialog = page.getByRole('dialog', { name: 'The test event was not accepted' })
    await dialog.getByText('no channel').waitFor()
    expect(await dialog.textContent()).toContain('"type": "webhook_tested"')
  })

  test('streams: offers the types of events', async ({ reopen }) => {
    const { client_id } = await addClient(service, { client_name: 'Mail server' })
    await addResource(service, { policy: { runtime: { client_ids: [client_id] } } })
    const { page } = await openAdmin(reopen, service, 'streams')
    await page.getByRole('button', { name: 'Create stream' }).first().click()
    await field(page, 'Client ID').fill(client_id)
    await field(page, 'token-revoked').check()
    await press(page, 'Create')
    await expect.poll(() => rowsOf(page)).toEqual([expect.stringMatching(/Mail server[\s\S]*token-revoked/)])
    const [stream] = await okAdmin<{ stream_id: string; events_requested: string[] }[]>(
      service,
      'GET',
      '/admin/streams',
    )
    expect(stream?.events_requested).toEqual([TOKEN_REVOKED])
    await okAdmin(service, 'DELETE', `/admin/streams/${stream?.stream_id}`)
  })

  test('streams: pauses and resumes a stream, and sends a verification event', async ({ reopen }) => {
    const { client_id } = await addClient(service)
    await addResource(service, { policy: { runtime: { client_ids: [client_id] } } })
    const body = { client_id, events_requested: [TOKEN_REVOKED] }
    const { stream_id } = await okAdmin<{ stream_id: string }>(service, 'POST', '/admin/streams', body)
    const stored = () => okAdmin<{ status: string; pending: number }>(service, 'GET', `/admin/streams/${stream_id}`)
    const { page } = await openAdmin(reopen, service, 'streams')
    await press(page, 'Pause')
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    expect((await stored()).status).toBe('paused')
    await press(page, 'Resume')
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
    await page.getByText('enabled', { exact: true }).waitFor()
    const before = (await stored()).pending
    await press(page, 'Verify')
    await press(page, 'Send')
    await said(page, 'The receiver gets a verification event.')
    expect((await stored()).pending).toBe(before + 1)
  })
})
