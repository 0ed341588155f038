// How the client of a metadata document authenticates: the methods offered here among those that the document names.
import { z } from 'zod'
import { issuesOf, listOf, text } from '../../lib/field.ts'
import type { AuthMethod, ClientAuthentication } from '../../records/client.ts'
import { keyFields, keysFault } from './client_keys.ts'

/** The default method of a document is none. Keys are read only if they are used. */
export const authenticationFields = {
  token_endpoint_auth_method: text(255).default('none'),
  token_endpoint_auth_methods_supported: listOf(text(255), { max: 20, filled: true }).optional(),
  jwks: z.unknown().optional(),
  jwks_uri: z.unknown().optional(),
}

interface Said {
  token_endpoint_auth_method: string
  token_endpoint_auth_methods_supported?: string[]
  jwks?: unknown
  jwks_uri?: unknown
}
type Problem = { path: string; message: string }
const keysOf = z.object({ jwks: keyFields.jwks.optional(), jwks_uri: keyFields.jwks_uri.optional() })

/**
 * The authentication of the client, or what is wrong with it. A document has no secrets. If it names several methods, those that are
 * not offered are ignored, and so is private_key_jwt if there are no keys.
 */
export function readAuthentication(said: Said, allowHttp: boolean): ClientAuthentication | { problems: Problem[] } {
  const named = said.token_endpoint_auth_methods_supported ?? [said.token_endpoint_auth_method]
  const isPublic = named.includes('none')
  const publicOnly: ClientAuthentication = { token_endpoint_auth_method: 'none' }
  const hasKeys = said.jwks !== undefined || said.jwks_uri !== undefined
  if (isPublic && !(named.includes('private_key_jwt') && hasKeys)) return publicOnly
  if (!named.includes('private_key_jwt'))
    return { problems: [{ path: 'token_endpoint_auth_method', message: 'must be none or private_key_jwt' }] }
  const parsed = keysOf.safeParse({ jwks: said.jwks, jwks_uri: said.jwks_uri })
  if (!parsed.success) return { problems: issuesOf(parsed.error) }
  const keyed = { ...parsed.data, token_endpoint_auth_method: 'private_key_jwt' as const }
  const fault = keysFault(keyed, allowHttp)
  if (fault) return { problems: [fault] }
  if (!isPublic) return keyed
  // A client that may also only name itself is a public one.
  const both: AuthMethod[] = ['none', 'private_key_jwt']
  return { ...keyed, ...publicOnly, token_endpoint_auth_methods_supported: both }
}
