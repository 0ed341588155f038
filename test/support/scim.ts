// SCIM keys, and requests with them.
import { newId } from '../../src/lib/id.ts'
import { okAdmin } from './admin.ts'
import { tempFile } from './folder.ts'
import { alsoFederating } from './openid_fake.ts'
import type { TestService } from './service.ts'

export interface ScimAnswer {
  status: number
  headers: Headers
  body: Record<string, unknown>
  text: string
}

export const ACME = 'https://acme.example.com'
/** Environment and file of a service with SCIM and the further provider `acme`, whose people are found by another claim than the subject. */
export function scimWithAcme(): { env: Record<string, string>; file: string } {
  const { record, env } = alsoFederating('acme', ACME, { scim_subject_claim: 'oid' })
  return {
    env: { ...env, SERVICE_SCIM_ENABLED: 'true' },
    file: tempFile('service.yaml', { oidc: { providers: [record] } }),
  }
}

/** A provider with a key: sends requests below /scim/v2. */
export interface ScimClient {
  key: string
  name: string
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ScimAnswer>
  /** Adds a person. Returns the id. */
  add(person: Record<string, unknown>): Promise<string>
  /** Changes a person or a group. */
  patch(path: string, ...Operations: object[]): Promise<ScimAnswer>
}

/** Makes a key for a provider. */
export async function scimClient(service: TestService, provider = 'default'): Promise<ScimClient> {
  const name = `scim-${newId()}`
  const { key } = await okAdmin<{ key: string }>(service, 'POST', '/admin/api-keys', {
    name,
    capability: 'scim',
    provider,
  })
  const send: ScimClient['send'] = async (method, path, body, more = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/scim+json', ...more }
    const answer = await fetch(`${service.issuer}/scim/v2${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const parsed = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
    return { status: answer.status, headers: answer.headers, body: parsed, text }
  }
  return {
    key,
    name,
    send,
    async add(person) {
      const { status, body, text } = await send('POST', '/Users', person)
      if (status !== 201) throw new Error(text)
      return String(body['id'])
    },
    patch: (path, ...Operations) =>
      send('PATCH', path, { schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'], Operations }),
  }
}
