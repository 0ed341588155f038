// Keycloak with a realm of its own: starts it, asks its admin API, and signs in on its pages.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../support/free_port.ts'
import { CLIENT_ID } from '../../support/openid_fake.ts'

const ADMIN = { username: 'admin', password: 'bootstrap-password' }
const KEYCLOAK_ENV = {
  KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
  KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  // The start is most of the time of the tests, and compiling less makes it shorter.
  JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
}
/** The folder of the database that a first start fills. */
export const DATABASE = 'imported'
const START_MS = 240_000

interface StartOptions {
  home: string
  database: string
  arguments?: readonly string[]
}

/** Runs Keycloak on a free port until `close`. Resolves when the realm answers. */
export async function runKeycloak({ home, database, arguments: more = [] }: StartOptions) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const command = [
    ...[path.join(home, 'bin/kc.sh'), 'start', '--optimized', '--http-enabled=true', '--hostname-strict=false'],
    ...['--http-host=127.0.0.1', `--http-port=${port}`, '--cache=local', '--log-level=error'],
    `--db-url=jdbc:h2:file:${path.join(database, 'keycloakdb')};NON_KEYWORDS=VALUE`,
    ...more,
  ]
  const child = spawn('bash', command, {
    env: { ...process.env, ...KEYCLOAK_ENV },
    // A process group of its own: kc.sh starts Java.
    detached: true,
    stdio: 'ignore',
  })
  try {
    await answering(child, `${url}/realms/acme`)
  } catch (error) {
    end(child)
    throw error
  }
  return { url, close: () => end(child) }
}

async function answering(child: ChildProcess, url: string): Promise<void> {
  for (let left = START_MS; left > 0; left -= 200) {
    if (child.exitCode !== null) throw new Error(`Keycloak ended with ${child.exitCode}`)
    const isUp = await fetch(url).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (isUp) return
    await sleep(200)
  }
  throw new Error(`Keycloak does not answer after ${START_MS / 1000} s`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  process.kill(-child.pid, 'SIGTERM')
  await ended
}

interface KeycloakUser {
  id: string
  username: string
  email: string
}
interface KeycloakEvent {
  type: string
  userId: string
}

/** Starts Keycloak with a copy of the imported database. */
export async function startKeycloak(home: string) {
  const database = mkdtempSync(path.join(tmpdir(), 'keycloak-'))
  cpSync(path.join(home, DATABASE), database, { recursive: true })
  const server = await runKeycloak({ home, database })
  const form = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMIN })
  const token = async () => {
    const answer = await fetch(`${server.url}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: form,
    })
    return ((await answer.json()) as { access_token: string }).access_token
  }
  const admin = async (method: string, place: string, body?: unknown): Promise<unknown> => {
    const answer = await fetch(`${server.url}/admin/realms/acme${place}`, {
      method,
      headers: { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${place}: ${answer.status} ${text}`)
    return text && JSON.parse(text)
  }
  let count = 0
  return {
    issuer: `${server.url}/realms/acme`,
    admin,
    /** Adds a user with a password, by default one with a verified email. */
    async addUser(more: { username?: string; emailVerified?: boolean; groups?: string[] } = {}): Promise<KeycloakUser> {
      const { username = `person${++count}` } = more
      const user = { ...more, username, email: `${username}@corp.example.com`, firstName: 'Ada', lastName: 'Lovelace' }
      const credentials = [{ type: 'password', value: PASSWORD_THERE, temporary: false }]
      await admin('POST', '/users', { ...{ enabled: true, emailVerified: true, credentials }, ...user })
      const [made] = (await admin('GET', `/users?exact=true&username=${user.username}`)) as KeycloakUser[]
      if (!made) throw new Error('the user was not made')
      return made
    },
    /** Changes attributes of the client. */
    async changeClient(changes: Record<string, string>) {
      const [client] = (await admin('GET', `/clients?clientId=${CLIENT_ID}`)) as { id: string; attributes: object }[]
      const attributes = { ...client?.attributes, ...changes }
      await admin('PUT', `/clients/${client?.id}`, { ...client, attributes })
    },
    /** Turns admin events on, and adds a client that may read them and the users. Returns its secret. */
    async addReader(clientId: string): Promise<string> {
      const realm = (await admin('GET', '')) as object
      await admin('PUT', '', { ...realm, adminEventsEnabled: true })
      const secret = randomUUID()
      await admin('POST', '/clients', { clientId, secret, serviceAccountsEnabled: true, standardFlowEnabled: false })
      const idOf = async (name: string) =>
        ((await admin('GET', `/clients?clientId=${name}`)) as { id: string }[])[0]?.id ?? ''
      const [reader, realmManagement] = [await idOf(clientId), await idOf('realm-management')]
      const account = (await admin('GET', `/clients/${reader}/service-account-user`)) as { id: string }
      const roles = (await admin('GET', `/clients/${realmManagement}/roles`)) as { name: string }[]
      const wanted = roles.filter(({ name }) => ['view-users', 'query-groups', 'view-events'].includes(name))
      await admin('POST', `/users/${account.id}/role-mappings/clients/${realmManagement}`, wanted)
      return secret
    },
    /** The types of the events of a user, newest first. */
    async eventsOf({ id }: { id: string }): Promise<string[]> {
      const events = (await admin('GET', `/events?user=${id}&max=500`)) as KeycloakEvent[]
      return events.map(({ type }) => type)
    },
    async close() {
      await server.close()
      rmSync(database, { recursive: true, force: true })
    },
  }
}

export type Keycloak = Awaited<ReturnType<typeof startKeycloak>>
export const PASSWORD_THERE = 'a-password-at-the-provider'
