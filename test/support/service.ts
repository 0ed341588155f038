// A whole service in this process, on real ports, with a database and keys of its own in a temporary folder.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { loadConfig } from '../../src/config/load.ts'
import type { App } from '../../src/context.ts'
import { offeredGrantTypes } from '../../src/grants/index.ts'
import type { HttpListener } from '../../src/http/listener.ts'
import { readBuild } from '../../src/lib/build.ts'
import type { Clock } from '../../src/lib/time.ts'
import { newClient, newUserId, offeredToAll, parseClientMetadata } from '../../src/oauth/clients/client_metadata.ts'
import { newResource } from '../../src/oauth/tokens/resource_record.ts'
import type { DetailsType } from '../../src/records/authorization_details.ts'
import type { Client } from '../../src/records/client.ts'
import {
  EVERYONE,
  type Resource,
  type ResourceAccess,
  type ResourcePolicy,
  type TokenClaim,
} from '../../src/records/resource.ts'
import type { User } from '../../src/records/user.ts'
import { type AppOptions, closeApp, openApp } from '../../src/server/assemble.ts'
import { openListeners } from '../../src/server/listeners.ts'
import { openTelemetry } from '../../src/telemetry/open.ts'
import { undeclaredDetails } from './audit.ts'
import { freePort } from './free_port.ts'
import { watched } from './leaks.ts'
import { createMigratedDatabase } from './migrated_database.ts'
import { openSharedCrypto } from './shared_crypto.ts'

export const ADMIN_KEY = 'test-admin-key-0123456789'
export const PASSWORD = 'correct horse battery staple'
export const REDIRECT_URI = 'https://client.example.com/callback'

export interface TestService {
  readonly app: App
  readonly issuer: string
  readonly admin: string
  /** Advances the clock of the service. */
  advance(seconds: number): void
  close(): Promise<void>
}

/** Enables encryption at rest. */
export const SEALED = {
  SERVICE_DATA_ENCRYPTION_DRIVER: 'aes_master',
  SERVICE_DATA_ENCRYPTION_KEY: '5ea1'.repeat(16),
}

/**
 * Starts a service; `env` holds SERVICE_ variables beside the ones every test needs (`<issuer>` and `<admin>` in them are its own), `file` what has no
 * variable, `options` what is not configured.
 */
export async function startService(
  env: Record<string, string> = {},
  file?: string,
  options: Pick<AppOptions, 'busyMs' | 'openCrypto'> = {},
): Promise<TestService> {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-test-'))
  const [port, adminPort] = [await freePort(), await freePort()]
  const issuer = `http://localhost:${port}`
  const admin = `http://127.0.0.1:${adminPort}`
  const database = path.join(folder, 'service.db')
  createMigratedDatabase(database)
  const variables = {
    SERVICE_SERVER_ISSUER: issuer,
    SERVICE_SERVER_ADDRESS: `:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    SERVICE_ADMIN_API_KEY: ADMIN_KEY,
    SERVICE_STORAGE_SQLITE_PATH: database,
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
    SERVICE_RATE_LIMIT_ENABLED: 'false',
    SERVICE_LOG_STDOUT: 'false',
    ...watched.by?.env(),
    ...Object.fromEntries(
      Object.entries(env).map(([name, value]) => [
        name,
        value.replaceAll('<issuer>', issuer).replaceAll('<admin>', admin),
      ]),
    ),
  }
  const { config } = loadConfig(file, variables)
  let ahead = 0
  const clock: Clock = { now: () => Math.floor(Date.now() / 1000) + ahead }
  const telemetry = await openTelemetry(config, readBuild(), variables)
  const app = await openApp(config, telemetry.log, {
    openCrypto: openTestCrypto,
    ...options,
    clock,
    env: variables,
    telemetry,
  })
  const fronts: HttpListener[] = []
  for await (const front of openListeners(app)) fronts.push(front)
  return {
    app,
    issuer,
    admin,
    advance(seconds) {
      ahead += seconds
    },
    async close() {
      await Promise.all(fronts.map((front) => front.close(1000)))
      const undeclared = await undeclaredDetails(app)
      await watched.by?.keepMetrics(app)
      await closeApp(app)
      await telemetry.close()
      watched.by?.keepDatabase(folder)
      rmSync(folder, { recursive: true, force: true })
      if (undeclared.length > 0) throw new Error(`oauth/audit_events.ts does not declare ${undeclared.join(', ')}`)
    },
  }
}

let count = 0

/** The hash of PASSWORD. It is computed once in a process, because that takes as long as a test. */
let hash: Promise<string> | undefined
const hashOfPassword = ({ crypto }: App): Promise<string> => (hash ??= crypto.hashPassword(PASSWORD))

/** The shared threads, which verify PASSWORD against its hash once in a process: most tests sign in, and that is a third of their time. */
let isVerified = false
const openTestCrypto: typeof openSharedCrypto = (options, log) => {
  const lanes = openSharedCrypto(options, log)
  return {
    ...lanes,
    async verifyPassword(password, stored, kinds) {
      const isKnown = password === PASSWORD && stored !== undefined && stored === (await hash)
      if (isKnown && isVerified) return { right: true }
      const answer = await lanes.verifyPassword(password, stored, kinds)
      if (isKnown) isVerified = answer.right
      return answer
    },
  }
}

export async function addUser({ app }: TestService, fields: Partial<User> = {}): Promise<User & { email: string }> {
  const now = app.clock.now()
  const user = {
    id: newUserId(),
    email: `user${++count}@example.com`,
    name: 'Ada Lovelace',
    password_hash: await hashOfPassword(app),
    role: 'user' as const,
    status: 'active' as const,
    provider: 'local' as const,
    email_verified: true,
    operator_groups: [],
    provider_groups: [],
    version: 1,
    created_at: now,
    updated_at: now,
    ...fields,
  }
  await app.store.createUser(user)
  return user
}

/** A confidential client with every grant, changed by `fields`. */
export async function addClient(
  { app }: Pick<TestService, 'app'>,
  fields: Record<string, unknown> = {},
  record: Partial<Client> = {},
): Promise<Client & { client_secret: string }> {
  const offered = ['authorization_code', 'refresh_token', 'client_credentials']
  const confidential = fields['token_endpoint_auth_method'] !== 'none'
  const metadata = parseClientMetadata(
    {
      client_name: `Client ${++count}`,
      redirect_uris: [REDIRECT_URI],
      grant_types: confidential ? offered : offered.slice(0, 2),
      token_endpoint_auth_method: 'client_secret_basic',
      scope: 'mcp:read mcp:write',
      ...fields,
    },
    { grant_types: [...offered, ...offeredGrantTypes(app.config)], ...offeredToAll(app.config) },
  )
  const { client, client_secret = '' } = newClient(metadata, 'admin', app.clock.now())
  await app.store.createClient({ ...client, ...record })
  return { ...client, ...record, client_secret }
}

export async function addResource(
  { app }: TestService,
  fields: {
    slug?: string
    uri?: string
    scopes?: string[]
    policy?: Partial<ResourcePolicy>
    access?: Partial<ResourceAccess>
    token_claims?: TokenClaim[]
    authorization_details_types?: DetailsType[]
    /** The groups of some scopes, by the name of the scope. */
    scope_groups?: Record<string, string[]>
  } = {},
): Promise<Resource & { uri: string }> {
  const slug = fields.slug ?? `resource-${++count}`
  const uri = fields.uri ?? `https://${slug}.example.com/mcp`
  const scopes = (fields.scopes ?? ['mcp:read', 'mcp:write']).map((name) => ({
    name,
    description: `Use ${name}`,
    upstream: '',
    ...(fields.scope_groups?.[name] ? { groups: fields.scope_groups[name] } : {}),
  }))
  const access = { ...EVERYONE, ...fields.access }
  const resource = newResource(
    {
      slug,
      uri,
      backend_kind: 'mint',
      display_name: `Resource ${slug}`,
      scopes,
      policy: fields.policy,
      access,
      authorization_details_types: fields.authorization_details_types ?? [],
      token_claims: fields.token_claims ?? [],
    },
    app.clock.now(),
  )
  await app.store.createResource(resource)
  return { ...resource, uri }
}
