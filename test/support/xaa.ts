// A client with ID-JAG assertions, the identity provider that issues them, and the reasons of refusals.

import { vi } from 'vitest'
import { issuerOf } from '../../src/config/issuer.ts'
import { newId } from '../../src/lib/id.ts'
import type { Client } from '../../src/records/client.ts'
import type { XaaPolicy } from '../../src/records/idp.ts'
import { okAdmin } from './admin.ts'
import type { Changes } from './dpop.ts'
import { EXCHANGE } from './exchange.ts'
import { type Answer, post } from './flow.ts'
import { type IdpKey, TestIdp } from './idp.ts'
import { addClient, addResource, type TestService } from './service.ts'

export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Environment of a service that may fetch keys from loopback. */
export const LOOPBACK = { SERVICE_CIMD_ALLOW_PRIVATE_ADDRESSES: 'true' }

type Policy = Partial<Pick<XaaPolicy, 'client_ids' | 'scopes' | 'resources' | 'enabled'>>

/** A confidential client that may redeem assertions and exchange tokens. */
export const addXaaClient = (
  service: TestService,
  fields: Record<string, unknown> = {},
  record: Partial<Client> = {},
): ReturnType<typeof addClient> => addClient(service, fields, { grant_types: [JWT_BEARER, EXCHANGE], ...record })

/** Registers an identity provider with policies; by default one that allows everything. Returns its id. */
export async function trust(
  service: TestService,
  idp: Pick<TestIdp, 'issuer' | 'jwks_uri'>,
  policies: Policy[] = [{}],
  fields: { audience?: string; subject_tokens?: boolean; audiences?: string[] } = {},
): Promise<string> {
  const { issuer, jwks_uri } = idp
  const { id } = await okAdmin<{ id: string }>(service, 'POST', '/admin/idps', { issuer, jwks_uri, ...fields })
  for (const policy of policies) await addPolicy(service, id, policy)
  return id
}

/** Registers an identity provider that receives no requests. Returns its id. */
export function addIdp(service: TestService): Promise<string> {
  const issuer = `https://${newId()}.example.com`
  return trust(service, { issuer, jwks_uri: `${issuer}/jwks.json` }, [])
}

export const addPolicy = (service: TestService, idp_id: string, policy: Policy) =>
  okAdmin<{ id: string }>(service, 'POST', '/admin/xaa/policies', { idp_id, ...policy })

/** Maps a subject of an identity provider to a local subject. */
export const mapSubject = (service: TestService, idp_id: string, federated_subject: string, local_subject: string) =>
  okAdmin<{ id: string }>(service, 'POST', '/admin/xaa/subject-mappings', { idp_id, federated_subject, local_subject })

export interface Scene {
  service: TestService
  idp: TestIdp
  idp_id: string
  client: Awaited<ReturnType<typeof addClient>>
  resource: Awaited<ReturnType<typeof addResource>>
  /** An assertion for the client and the resource, with changes. */
  assertion(changes?: Changes, key?: IdpKey): Promise<string>
  /** Redeems an assertion at the token endpoint. */
  redeem(
    assertion: string,
    fields?: Record<string, string | undefined>,
    headers?: Record<string, string>,
  ): Promise<Answer>
}

/** A client, a resource, and an identity provider that is trusted with `policies`. */
export async function xaaScene(
  service: TestService,
  parts: {
    policies?: Policy[]
    alg?: string
    idp?: TestIdp
    client?: Record<string, unknown>
    record?: Partial<Client>
  } = {},
): Promise<Scene> {
  const idp = parts.idp ?? (await TestIdp.start(parts.alg))
  const idp_id = await trust(service, idp, parts.policies)
  const client = await addXaaClient(service, parts.client, parts.record)
  const resource = await addResource(service)
  return {
    ...{ service, idp, idp_id, client, resource },
    assertion: ({ header, claims } = {}, key) =>
      idp.assertion(
        { aud: issuerOf(service.app.config), client_id: client.client_id, now: service.app.clock.now() },
        { header, claims: { resource: resource.uri, ...claims } },
        key,
      ),
    redeem: (assertion, fields, headers) => redeemAssertion(service, client, assertion, fields, headers),
  }
}

/** Sends an assertion to the token endpoint. */
export const redeemAssertion = (
  service: TestService,
  client: { client_id: string; client_secret?: string } | undefined,
  assertion: string | undefined,
  fields: Record<string, string | undefined> = {},
  headers: Record<string, string> = {},
): Promise<Answer> =>
  post(`${service.issuer}/oauth/token`, client, { grant_type: JWT_BEARER, assertion, ...fields }, headers)

type Logged = { request_id?: string; reason?: string; unverified?: object }

/** The reason of the refusal of an answer; `lineOf` is its whole log line. */
type Reasons = ((answer: Answer) => string | undefined) & { lineOf(answer: Answer): Logged | undefined }

/** Reads the reason of a refusal from the log, because the answer does not contain it. Lasts until mocks are restored. */
export function watchReasons({ app: { log } }: TestService): Reasons {
  const lines: Logged[] = []
  vi.spyOn(log, 'isLevelEnabled').mockReturnValue(true)
  for (const level of ['debug', 'info', 'error'] as const)
    vi.spyOn(log, level).mockImplementation((fields: unknown) => void lines.push(fields as Logged))
  const lineOf = ({ body }: Answer) => lines.find(({ request_id }) => request_id === body['request_id'])
  return Object.assign((answer: Answer) => lineOf(answer)?.reason, { lineOf })
}
