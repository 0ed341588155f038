// Webhooks are verified with the package of the Standard Webhooks project. It is installed outside the repository.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { RECEIVERS_ALLOWED, TestReceiver } from '../support/receiver.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { INTEROP_CACHE } from './toolchain.ts'

const PACKAGE = 'standardwebhooks@1.0.0'
interface Verifying {
  Webhook: new (secret: string) => { verify(text: string, headers: Record<string, string>): unknown }
}

/** The package; undefined when it cannot be installed, for example without a network. */
async function load(): Promise<Verifying | undefined> {
  const folder = path.join(INTEROP_CACHE, PACKAGE)
  mkdirSync(folder, { recursive: true })
  const options = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
  const installed = path.join(folder, 'node_modules', 'standardwebhooks')
  if (!existsSync(installed))
    await promisify(execFile)('npm', [...options, PACKAGE], { cwd: folder, timeout: 120_000 }).catch(() => {})
  return existsSync(installed) ? createRequire(import.meta.url)(installed) : undefined
}

const found = await load()
if (!found) process.stdout.write(`skipped: ${PACKAGE} cannot be installed\n`)

let service: TestService
beforeAll(async () => {
  service = await startService(RECEIVERS_ALLOWED)
})
afterAll(() => service.close())

test.runIf(found)(
  'the package accepts a delivery with each secret of a rotation, and refuses a changed or old one',
  async () => {
    const { Webhook } = found as Verifying
    const receiver = await TestReceiver.start()
    const hook = { url: receiver.url, events: ['client_suspended'] }
    const { id, secret } = await okAdmin<{ id: string; secret: string }>(service, 'POST', '/admin/webhooks', hook)
    const rotated = await okAdmin<{ secret: string }>(service, 'POST', `/admin/webhooks/${id}/rotate-secret`)
    const { client_id } = await addClient(service)
    await okAdmin(service, 'PATCH', `/admin/clients/${client_id}/suspend`)
    const [delivered] = await receiver.arrived(1)
    const [text, headers] = [delivered?.text ?? '', delivered?.headers as Record<string, string>]
    for (const each of [secret, rotated.secret])
      expect(new Webhook(each).verify(text, headers)).toMatchObject({ type: 'client_suspended', data: { client_id } })
    const verify = new Webhook(rotated.secret)
    expect(() => verify.verify(text.replace(client_id, 'another'), headers)).toThrow(/signature/i)
    expect(() => new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw').verify(text, headers)).toThrow(/signature/i)
    const old = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 600) }
    expect(() => verify.verify(text, old)).toThrow(/old/i)
  },
)
