// A roll-out on PostgreSQL: the release before runs beside this version while one instance after the other is replaced, behind a balancer.
import { connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import type { Browser } from '../support/browser.ts'
import { runCli } from '../support/cli.ts'
import { authorize, claimsOf, introspect, machineToken, redeem, refresh } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { type Placed, placed } from '../support/instances.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { buildRelease, hasCommit } from '../support/release.ts'
import { PASSWORD, REDIRECT_URI, SEALED, type TestService } from '../support/service.ts'
import { eventually, pause } from '../support/wire.ts'

/** The releases from which an operator may roll out this version without a pause. */
const RELEASES = ['34ed716d']
const RESOURCE = 'https://tools.example.com/mcp'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

/** Sends new connections to one instance, and ends the others: as a balancer of which operators take instances out. */
class Balancer {
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  #to = 0
  readonly port: number

  constructor(port: number) {
    this.port = port
    this.#server = createServer((socket) => {
      const upstream = connect(this.#to, '127.0.0.1')
      for (const each of [socket, upstream]) {
        this.#sockets.add(each)
        each.on('error', () => {})
        each.on('close', () => {
          this.#sockets.delete(each)
          ;(each === socket ? upstream : socket).destroy()
        })
      }
      socket.pipe(upstream).pipe(socket)
    }).listen(port, '127.0.0.1')
  }

  async use(to: Placed): Promise<void> {
    this.#to = to.port
    for (const each of this.#sockets) each.destroy()
    await pause(50)
  }

  close(): void {
    this.#server.close()
    for (const each of this.#sockets) each.destroy()
  }
}

type Client = Record<'client_id' | 'client_secret', string>

/** The instances of a site on one database, and what operators, clients and users do at the one that the balancer uses. */
async function openSite(program: string) {
  const balancer = new Balancer(await freePort())
  const at = { issuer: `http://localhost:${balancer.port}` } as TestService
  const shared = {
    ...SEALED,
    SERVICE_SERVER_ISSUER: at.issuer,
    SERVICE_STORAGE_DRIVER: 'postgres',
    SERVICE_STORAGE_POSTGRES_DSN: await server.database(),
    SERVICE_STORAGE_POSTGRES_MAX_CONNS: '5',
    SERVICE_SIGNING_KEY_STORE: 'postgres_key',
    SERVICE_SESSION_SECRET: 'a-session-secret-of-the-whole-site-0123456789',
  }
  let admin = ''
  let made = 0
  const call = <B>(method: string, path: string, body?: unknown) => okAdmin<B>({ admin }, method, path, body)
  return {
    shared,
    call,
    balancer,
    before: () => placed(tempFolder(), shared, { program }),
    after: () => placed(tempFolder(), shared),
    async use(next: Placed) {
      admin = next.admin
      await balancer.use(next)
    },
    addClient: () =>
      call<Client>('POST', '/admin/clients', {
        client_name: `Client ${++made}`,
        redirect_uris: [REDIRECT_URI],
        grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
        scope: 'mcp:read',
        token_endpoint_auth_method: 'client_secret_basic',
      }),
    async addUser() {
      const email = `user${++made}@example.com`
      await call('POST', '/admin/users', { email, name: 'Ada', password: PASSWORD })
      return { email }
    },
    async signIn(client: Client, user: { email: string }, known?: Browser) {
      const { browser, ...code } = await authorize(at, client, user, { resource: RESOURCE }, known)
      const answer = await redeem(at, client, code)
      claimsOf(answer)
      return { browser, refresh_token: String(answer.body['refresh_token']) }
    },
    async renew(client: Client, token: string) {
      const answer = await refresh(at, client, token)
      claimsOf(answer)
      return String(answer.body['refresh_token'])
    },
    machine: (client: Client) => machineToken(at, client, { resource: RESOURCE }),
    isActive: async (client: Client, token: unknown) => (await introspect(at, client, token))['active'],
  }
}

describe.each(RELEASES)('a roll-out beside the release %s', (release) => {
  // Without the commit, as in a shallow clone, nothing can be shown.
  test.skipIf(!hasCommit(release))(
    'leaves every kind of request working at both versions, at each step',
    async () => {
      const site = await openSite(buildRelease(release))
      const [oldA, oldB] = [await site.before(), await site.before()]
      const [newA, newB] = [await site.after(), await site.after()]
      await oldA.instance.start()
      await oldB.instance.start()
      await site.use(oldA)
      const scopes = [{ name: 'mcp:read', description: 'Read', upstream: '' }]
      const tools = { slug: 'tools', uri: RESOURCE, backend_kind: 'mint', display_name: 'Tools', scopes }
      await site.call('POST', '/admin/resources', tools)
      const [client, user] = [await site.addClient(), await site.addUser()]
      let { browser, refresh_token } = await site.signIn(client, user)

      /** What clients, users and operators do at an instance, and what the other one must know of it. */
      const works = async (here: Placed, beside: Placed) => {
        await site.use(here)
        expect((await fetch(`http://127.0.0.1:${here.port}/ready`)).status).toBe(200)
        const machine = await site.machine(client)
        claimsOf(machine)
        refresh_token = await site.renew(client, refresh_token)
        const [newClient, newUser] = [await site.addClient(), await site.addUser()]
        const signedIn = await site.signIn(newClient, newUser)
        browser = (await site.signIn(client, user, browser)).browser
        expect((await site.call<unknown[]>('GET', '/admin/audit?limit=5')).length).toBe(5)
        await site.use(beside)
        expect(await site.isActive(client, machine.body['access_token'])).toBe(true)
        await site.renew(newClient, signedIn.refresh_token)
        claimsOf(await site.machine(newClient))
        await okAdmin(here, 'PATCH', `/admin/clients/${newClient.client_id}/suspend`)
        await eventually(async () => (await site.machine(newClient)).body['error'] === 'invalid_client')
      }

      /**
       * A statement that reads all columns of a table with a new column fails once on each connection, with 503, and the connection is
       * replaced. Several sign-ins in a row show that all were.
       */
      const settle = async (old: Placed) => {
        await site.use(old)
        let inARow = 0
        await eventually(async () => {
          const works = await site.signIn(client, user).then(
            () => true,
            () => false,
          )
          inARow = works ? inARow + 1 : 0
          return inARow === 8
        }, 60_000)
      }

      await works(oldA, oldB)
      // The operator migrates while both instances run.
      const migrated = await runCli(['migrate'], site.shared)
      expect([migrated.code, migrated.stderr, migrated.stdout]).toEqual([
        0,
        '',
        expect.stringContaining('070_instances'),
      ])
      for (const old of [oldA, oldB]) await settle(old)
      await works(oldA, oldB)
      await works(oldB, oldA)

      await oldB.instance.kill('SIGTERM')
      await newB.instance.start()
      await works(newB, oldA)
      await works(oldA, newB)

      await site.use(newB)
      await oldA.instance.kill('SIGTERM')
      await newA.instance.start()
      await works(newA, newB)
      await works(newB, newA)

      // From this version on an older instance starts again after a newer one expanded the tables.
      await newA.instance.kill('SIGTERM')
      await server.sql(
        site.shared.SERVICE_STORAGE_POSTGRES_DSN,
        "ALTER TABLE clients ADD COLUMN later TEXT; INSERT INTO schema_migrations VALUES (999, 'later', 'x', 1)",
      )
      await newA.instance.start()
      await works(newA, newB)
      const isReplaced = (line: string) => line.includes('cached plan must not change result type')
      for (const { instance } of [oldA, oldB, newA, newB])
        expect(instance.errors().filter((line) => !isReplaced(line))).toEqual([])
      site.balancer.close()
    },
    300_000,
  )
})
