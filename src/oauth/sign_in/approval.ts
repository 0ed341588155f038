// What approvals (CIBA) share: the auth_req_id, whom a request is for, and the ends of undecided requests.
import type { App } from '../../context.ts'
import { comparableEmail } from '../../lib/email.ts'
import { type Bearer, bearerOf, equalSecrets } from '../../lib/id.ts'
import type { PolledRequest } from '../../records/polled_request.ts'
import type { User } from '../../records/user.ts'
import type { PolledApproval } from '../../store/tokens/approvals.ts'
import { newAuditEvent, SYSTEM } from '../audit.ts'

export const CIBA_GRANT = 'urn:openid:params:grant-type:ciba'
export const AUTH_REQ_ID_PREFIX = 'ar'

const AUTH_REQ_ID = 'auth_req_id'
/** The auth_req_id of a request. It follows from the id and a secret of the service, so that it need not be stored for the ping. */
export const newAuthReqId = ({ successors }: Pick<App, 'successors'>, id: string): Bearer =>
  bearerOf(AUTH_REQ_ID_PREFIX, id, successors.mac(AUTH_REQ_ID, id))

/** The auth_req_id of a request, whichever of the secrets made it. Undefined if that secret was removed. */
export const authReqIdOf = (
  { successors }: Pick<App, 'successors'>,
  { id, hash }: Pick<PolledRequest, 'id' | 'hash'>,
): string | undefined =>
  successors
    .macs(AUTH_REQ_ID, id)
    .map((mac) => bearerOf(AUTH_REQ_ID_PREFIX, id, mac))
    .find((each) => equalSecrets(each.hash, hash))?.value

/** By what requests to a person are counted. A hint that names no person counts like a person, in every form in which it would name the same one. */
export const personOfHint = (
  { successors }: Pick<App, 'successors'>,
  user: Pick<User, 'id'> | undefined,
  hint: string,
): string => successors.mac('approval', user ? user.id : comparableEmail(hint))

/** Requests whose end is recorded at once. */
const EXPIRED_AT_ONCE = 100

/** Records the end of requests that were not decided in time. */
export async function recordExpired(app: App): Promise<void> {
  const found = await app.store.listExpiredApprovals({ now: app.clock.now(), limit: EXPIRED_AT_ONCE })
  for (const { id, ...polled } of found)
    await app.store.recorded(
      'expireApproval',
      { id },
      newAuditEvent(app, { ...SYSTEM, ...eventOf({ id, ...polled }), action: 'approval_expired' }),
    )
}

/** What the events of a request say about it. */
export const eventOf = ({ id, client_id, resource, scope, approval }: PolledApproval) => ({
  client_id,
  detail: {
    approval_id: id,
    ...(approval.user_id === undefined ? {} : { user_id: approval.user_id }),
    ...(resource === undefined ? {} : { resource }),
    scope,
  },
})
