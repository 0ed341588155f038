// Shared by the tests of OAuth libraries in other languages: a service with a resource, and the task of a driver.
import { afterAll, beforeAll } from 'vitest'
import type { Client } from '../../src/records/client.ts'
import { authorize, redeem } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { type Driven, drive } from './driver.ts'
import type { Toolchain } from './toolchain.ts'

export interface Fixture {
  service: TestService
  /** The URI of the resource. */
  server: string
  /** Its slug. */
  slug: string
  /** Runs a library by its name in the driver. Returns its result. */
  run(client: string, task?: object): Promise<Driven>
  /** An access token of a user, for the resource. */
  userToken(): Promise<{ sub: string; token: string }>
  /** A confidential client that may introspect tokens of the resource. */
  machine: Client & { client_secret: string }
}

/** Starts a service before the tests of a file and stops it after them. */
export function libraryFixture(
  toolchain: Toolchain,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Fixture {
  const slug = 'notes'
  const server = 'https://notes.example.com/mcp'
  const at: Partial<Pick<Fixture, 'service' | 'machine'>> = {}
  beforeAll(async () => {
    const service = await startService(env)
    const machine = await addClient(service)
    await addResource(service, { slug, uri: server, policy: { runtime: { client_ids: [machine.client_id] } } })
    Object.assign(at, { service, machine })
  })
  afterAll(() => at.service?.close())
  const started = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('the service has not started')
    return part
  }
  return {
    server,
    slug,
    get service() {
      return started(at.service)
    },
    get machine() {
      return started(at.machine)
    },
    async run(client, task = {}) {
      const { issuer } = this.service
      const command = 'command' in toolchain ? [...toolchain.command, ...args] : []
      const all = { client, issuer, server, redirect_uri: REDIRECT_URI, ...task }
      return drive(command, all, this.service, await addUser(this.service))
    },
    async userToken() {
      const [user, client] = [await addUser(this.service), await addClient(this.service)]
      const authorized = await authorize(this.service, client, user, { resource: server })
      const { body } = await redeem(this.service, client, authorized)
      return { sub: user.id, token: String(body['access_token']) }
    },
  }
}
