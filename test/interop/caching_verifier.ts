// A rotation, as a verifier that caches the JWKS sees it, for each key store.
import { decodeProtectedHeader } from 'jose'
import { afterAll, afterEach, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { machineToken } from '../support/flow.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { addClient, SEALED, startService, type TestService } from '../support/service.ts'
import { ROOT, startTransit } from '../support/transit_server.ts'

let postgres: PostgresServer | undefined
/** Functions that close what a test opened. */
export const open: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})
afterAll(() => postgres?.close())

export const STORES: Record<string, () => Promise<Record<string, string>>> = {
  keyfile: async () => ({}),
  async postgres_key() {
    postgres ??= await startPostgres()
    return {
      ...SEALED,
      SERVICE_SIGNING_KEY_STORE: 'postgres_key',
      SERVICE_STORAGE_DRIVER: 'postgres',
      SERVICE_STORAGE_POSTGRES_DSN: await postgres.migrated(),
    }
  },
  async secretstore_transit() {
    const engine = await startTransit()
    open.push(engine)
    return {
      SERVICE_SIGNING_KEY_STORE: 'secretstore_transit',
      SERVICE_VAULT_ADDR: engine.address,
      SERVICE_VAULT_TOKEN: ROOT,
    }
  },
}

/** A verifier that lives as long as the test. Resolves to `ok`, or to the reason of the refusal. */
export type Verifier = (token: string) => Promise<string>

export const jwksOf = ({ issuer }: TestService) => `${issuer}/.well-known/jwks.json`

const issue = async (service: TestService, client: Parameters<typeof machineToken>[1]) =>
  String((await machineToken(service, client)).body['access_token'])
const kidOf = (token: string) => decodeProtectedHeader(token).kid

/** Issues a token, rotates, issues another one: the verifier, which has fetched the JWKS for the first, accepts both. */
export async function acrossARotation(
  store: string,
  verifier: (service: TestService) => Promise<Verifier>,
): Promise<void> {
  const service = await startService(await STORES[store]?.())
  open.push(service)
  const client = await addClient(service)
  const verify = await verifier(service)
  const before = await issue(service, client)
  expect(await verify(before)).toBe('ok')
  const { current_kid } = await okAdmin<{ current_kid: string }>(service, 'POST', '/admin/keys/rotate')
  const after = await issue(service, client)
  expect(kidOf(after)).toBe(current_kid)
  expect(kidOf(after)).not.toBe(kidOf(before))
  expect([await verify(after), await verify(before)]).toEqual(['ok', 'ok'])
}
