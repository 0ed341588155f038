// An MCP server is connected on the page, and an empty server shows its first steps.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { addAxe, findingsOf } from '../support/axe.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { LOCAL_DOCUMENTS } from '../support/documents.ts'
import { machineToken } from '../support/flow.ts'
import { addClient, addUser, PASSWORD, startService, type TestService } from '../support/service.ts'
import { openAdmin, press } from './open.ts'

let service: TestService
let mcp: Server
let uri: string
/** What the MCP server answers to a request with a token. */
let answer = 200
beforeAll(async () => {
  service = await startService(LOCAL_DOCUMENTS)
  mcp = createServer((request, response) => {
    const { origin } = new URL(uri)
    if (request.url === '/.well-known/oauth-protected-resource/mcp') {
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({
          resource: uri,
          authorization_servers: [service.issuer],
          scopes_supported: ['notes:read', 'notes:write', 'not "a" scope'],
        }),
      )
    } else if (request.headers.authorization === undefined) {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`
      response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end()
    } else
      response
        .writeHead(answer, { 'content-type': 'application/json' })
        .end(JSON.stringify({ seen: request.headers.authorization }))
  })
  await new Promise<void>((resolve) => mcp.listen(0, '127.0.0.1', resolve))
  uri = `http://127.0.0.1:${(mcp.address() as AddressInfo).port}/mcp`
})
afterAll(async () => {
  mcp.close()
  await service.close()
})

describe(`in ${CHROMIUM}`, () => {
  test('an empty server shows four steps, which are ticked as soon as they are done', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service)
    const steps = page.getByRole('list', { name: 'First steps' })
    await steps.getByRole('link', { name: 'Connect a server' }).waitFor()
    expect(await steps.getByRole('link').allTextContents()).toEqual(['Connect a server', 'Users', 'Clients', 'Try it'])
    const client = await addClient(service, { grant_types: ['client_credentials'] })
    await machineToken(service, client)
    await expect.poll(() => steps.getByText('done').count(), { timeout: 15_000 }).toBe(2)
    await press(page, 'Hide')
    await steps.waitFor({ state: 'detached' })
  })

  test('an MCP server is connected: its metadata is read and checked, its scopes are taken, and a real sign-in shows each step', async ({
    reopen,
  }) => {
    const user = await addUser(service)
    const { page, complaints } = await openAdmin(reopen, service, 'connect')
    await page.getByLabel('URL of the MCP endpoint').fill(uri)
    await press(page, 'Read its metadata')
    await page.getByText('it names this service and this URL').waitFor()
    expect(await page.getByRole('list', { name: 'Steps' }).getByText('passed').count()).toBe(3)
    await addAxe(page)
    expect(await findingsOf(page)).toEqual([])
    await page.getByLabel('notes:write').uncheck()
    await page.getByLabel('Short name').fill('notes')
    await press(page, 'Register it')
    await page.getByRole('heading', { name: 'Lines for the server' }).waitFor()
    const resource = await service.app.store.findResourceByName({ name: 'notes' })
    expect([resource?.uri, resource?.scopes.map(({ name }) => name)]).toEqual([uri, ['notes:read']])
    for (const [language, line] of [
      ['Go', 'oidc.NewProvider'],
      ['C#', 'options.Audience'],
      ['Cursor', 'mcpServers'],
    ] as const) {
      await press(page, language)
      await page.locator('pre', { hasText: line }).waitFor()
    }

    for (const [status, outcome] of [
      [200, /^200/],
      [401, /^401/],
    ] as const) {
      answer = status
      await page.getByRole('button', { name: /^(Sign in as a user|Try it again)$/ }).click()
      if (status === 200) {
        await page.getByLabel('Email').fill(user.email ?? '')
        await page.getByLabel('Password').fill(PASSWORD)
        await press(page, 'Sign in')
      }
      await press(page, 'Allow')
      const steps = page.getByRole('list', { name: 'Steps' }).getByRole('listitem')
      await expect.poll(() => steps.count()).toBe(3)
      const [signIn, redeem, call] = await steps.allInnerTexts()
      expect([signIn, redeem]).toEqual([
        expect.stringContaining('an authorization code'),
        expect.stringContaining('notes:read'),
      ])
      expect(call?.split('\n')[1]).toMatch(outcome)
      // The server echoes the token, which the page does not show.
      expect(call).not.toMatch(/eyJ/)
      expect(call?.includes('What to change')).toBe(status !== 200)
      expect(page.url()).toBe(`${service.admin}/admin/ui/connect/notes`)
    }
    const left = await service.app.store.listClients({ limit: 100, offset: 0, order: 'oldest' })
    expect(left.filter(({ client_name }) => client_name.startsWith('Sign-in test'))).toEqual([])
    expect(complaints.filter((each) => !each.includes('favicon'))).toEqual([])
  })

  test('a server that does not run and one that names another service show what to change', async ({ reopen }) => {
    const { page } = await openAdmin(reopen, service, 'connect')
    await page.getByLabel('URL of the MCP endpoint').fill('http://127.0.0.1:9/mcp')
    await press(page, 'Read its metadata')
    await page.getByText('What to change: Check its name, its certificate and that it runs.').first().waitFor()
    await page.getByLabel('URL of the MCP endpoint').fill('nowhere')
    await press(page, 'Read its metadata')
    await page.getByRole('alert').waitFor()
  })
})
