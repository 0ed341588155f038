// POST /oauth/global-token-revocation (draft-parecki-oauth-global-token-revocation): ends the sessions and tokens of a person, who may sign in
// again.
import type { App } from '../context.ts'
import { empty, NO_STORE, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { isObject } from '../lib/json.ts'
import { scimBody } from './body.ts'
import type { ScimCaller } from './caller.ts'
import { notThere } from './message.ts'
import { liveFrom } from './users.ts'

/** The members of each format of a subject identifier (RFC 9493 §3.2). */
const FORMATS = { email: ['email'], iss_sub: ['iss', 'sub'], opaque: ['id'] } as const

type Named = { email: string } | { iss: string; sub: string } | { id: string }

/** Throws invalid_request for a body without a subject. */
function subjectOf(body: Readonly<Record<string, unknown>>): Named {
  const { sub_id } = body
  const format = isObject(sub_id) ? sub_id['format'] : undefined
  const members = FORMATS[format as keyof typeof FORMATS] as readonly string[] | undefined
  const isFull = (value: unknown) =>
    typeof value === 'string' && value !== '' && value.length <= 2048 && !value.includes('\0')
  if (
    !isObject(sub_id) ||
    !members ||
    !Object.hasOwn(FORMATS, String(format)) ||
    !members.every((each) => isFull(sub_id[each]))
  )
    throw new OAuthError('invalid_request', 'sub_id must have the format email, iss_sub or opaque, with its members', {
      reason: 'scim_bad_subject',
    })
  return Object.fromEntries(members.map((each) => [each, sub_id[each]])) as Named
}

/** Ends the sessions and tokens of the person that the body names. */
export async function revokeGlobally(app: App, request: Request, caller: ScimCaller): Promise<Reply> {
  const named = subjectOf(scimBody(request))
  const { provider } = caller
  if ('iss' in named && named.iss !== provider.issuer) throw notThere('user')
  const ids = await app.store.findScimSubject({ provider, ...named })
  if (ids.length === 0) throw notThere('user')
  const times = { now: app.clock.now(), live_from: liveFrom(app) }
  for (const id of ids)
    await app.store.recorded('revokeScimSubject', { id, provider: provider.slug, ...times }, caller.event())
  return empty(204, NO_STORE)
}
