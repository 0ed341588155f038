// Schemas of the answers about identity providers, and about policies and mappings for their assertions.
import { z } from 'zod'
import { hostWarning } from './parts.ts'

const at = z.iso.datetime()
const texts = z.array(z.string())
const named = { id: z.string(), name: z.string(), enabled: z.boolean(), created_at: at, updated_at: at }
export const idp = z.strictObject({
  ...named,
  issuer: z.string(),
  audience: z.string(),
  jwks_uri: z.string(),
  subject_tokens: z.boolean(),
  audiences: texts,
  warning: hostWarning,
})
export const xaaPolicy = z.strictObject({
  ...named,
  idp_id: z.string(),
  client_ids: texts,
  scopes: texts.optional().describe('Absent when the scopes are not limited.'),
  resources: texts,
})
export const mapping = z.strictObject({
  id: z.string(),
  idp_id: z.string(),
  mode: z.enum(['explicit']),
  federated_subject: z.string(),
  local_subject: z.string(),
  created_at: at,
})
