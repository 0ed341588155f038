// POST /oauth/global-token-revocation (draft-parecki-oauth-global-token-revocation): ends the sessions and tokens of a person, who may sign in
// again.
import { z } from 'zod'
import type { App } from '../context.ts'
import { empty, NO_STORE, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import type { ScimCaller } from './caller.ts'
import { notThere, scimBody } from './message.ts'
import { liveFrom } from './users.ts'

const part = z
  .string()
  .min(1)
  .max(2048)
  .refine((value) => !value.includes('\0'))
/** The formats of a subject identifier (RFC 9493 §3.2). */
const subject = z.discriminatedUnion('format', [
  z.object({ format: z.literal('email'), email: part }),
  z.object({ format: z.literal('iss_sub'), iss: part, sub: part }),
  z.object({ format: z.literal('opaque'), id: part }),
])

/** Ends the sessions and tokens of the person that the body names. */
export async function revokeGlobally(app: App, request: Request, caller: ScimCaller): Promise<Reply> {
  const { data: named } = subject.safeParse(scimBody(request)['sub_id'])
  if (!named)
    throw new OAuthError('invalid_request', 'sub_id must have the format email, iss_sub or opaque, with its members', {
      reason: 'scim_bad_subject',
    })
  const { provider } = caller
  if ('iss' in named && named.iss !== provider.issuer) throw notThere('user')
  const ids = await app.store.findScimSubject({ provider, ...named })
  if (ids.length === 0) throw notThere('user')
  const times = { now: app.clock.now(), live_from: liveFrom(app) }
  for (const id of ids)
    await app.store.recorded('revokeScimSubject', { id, provider: provider.slug, ...times }, caller.event())
  return empty(204, NO_STORE)
}
