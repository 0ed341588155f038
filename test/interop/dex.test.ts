// Sign-in at a real dex: its issuer has a path, it sends groups for a scope, and it has no end_session endpoint.
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventsOf, okAdmin } from '../support/admin.ts'
import { freePort } from '../support/free_port.ts'
import { CLIENT_ID, CLIENT_SECRET, federating, isSignedIn } from '../support/openid_fake.ts'
import { startService, type TestService } from '../support/service.ts'
import { FormBrowser } from './form_browser.ts'
import { dex } from './toolchain.ts'

const toolchain = await dex()
const PASSWORD_THERE = 'a-password-at-the-provider'

/** Starts dex with the callback of a service. */
async function startDex(program: string, listen: string, redirect: string) {
  const flags = { listen, client: CLIENT_ID, secret: CLIENT_SECRET, redirect, password: PASSWORD_THERE }
  const child = spawn(
    program,
    Object.entries(flags).flatMap(([name, value]) => [`-${name}`, value]),
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const isUp = () =>
    fetch(`http://${listen}/dex/keys`).then(
      ({ status }) => status === 200,
      () => false,
    )
  while (child.exitCode === null && !(await isUp())) await sleep(50)
  return () => void child.kill('SIGKILL')
}

describe.skipIf('missing' in toolchain)('dex', () => {
  let service: TestService
  let wrongly: TestService
  let issuer: string
  let end: () => void
  beforeAll(async () => {
    const [program = ''] = 'command' in toolchain ? toolchain.command : []
    const listen = `127.0.0.1:${await freePort()}`
    issuer = `http://${listen}/dex`
    service = await startService(federating(issuer))
    const redirect = `${service.issuer}/oidc/callback`
    wrongly = await startService(
      federating(issuer, { SERVICE_OIDC_CLIENT_SECRET: 'a-wrong-secret', SERVICE_OIDC_REDIRECT_URI: redirect }),
    )
    end = await startDex(program, listen, redirect)
  })
  afterAll(async () => {
    await service?.close()
    await wrongly?.close()
    end?.()
  })
  const newBrowser = () =>
    new FormBrowser([service.issuer, issuer], { login: 'ada@corp.example.com', password: PASSWORD_THERE })

  test('a user signs in with the groups of dex', async () => {
    const browser = newBrowser()
    await browser.travel(`${service.issuer}/oidc/start?redirect=%2F`)
    expect(await isSignedIn(service, browser)).toBe(true)
    expect(await okAdmin(service, 'GET', '/admin/users')).toContainEqual(
      expect.objectContaining({
        ...{ provider_issuer: issuer, email: 'ada@corp.example.com', email_verified: true, groups: ['engineering'] },
      }),
    )
  })

  test('a wrong secret is oidc_invalid_client, and the right one is accepted', async () => {
    const oidc = wrongly.app.oidc[0]
    await expect(oidc?.checkClient()).rejects.toMatchObject({ reason: 'oidc_invalid_client' })
    await expect(service.app.oidc[0]?.checkClient()).resolves.toBeUndefined()
    expect(await eventsOf(service, 'user_oidc_login_failed')).toEqual([])
  })
})
