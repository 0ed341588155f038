// Emergency revocation: one call revokes everything that matches. A dry run counts it first.
import { z } from 'zod'
import { longestLife } from '../config/lifetimes.ts'
import type { App } from '../context.ts'
import { jsonBool, name, time } from '../lib/field.ts'
import { idFloor, idTime } from '../lib/id.ts'
import { DAY } from '../lib/time.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { OnProgress } from '../records/job.ts'
import type { Description, RevocationWindow, Revoked } from '../store/tokens/revocations.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers/answers.ts'
import { checkRange } from './export.ts'
import { timeFlags } from './time_flags.ts'

/** Rows of one window. It is small, so that other requests do not wait. */
const WINDOW_ROWS = 2000
/** Maximum age in seconds of an authorization request or code (endpoints/authorize.ts). */
const REQUEST_LIFETIME = 3600
/** Most sign-ins are younger. Only the progress uses this. */
const LONG_AGO = 90 * DAY

interface Sweep {
  /** Counts without revoking. */
  dry_run: boolean
  /** Creates the event of the revocation, which is recorded with the first change. Its detail gets the numbers at the end. */
  event?: () => AuditEvent
  onProgress?: OnProgress
}

/** Revokes matching live tokens, families and codes, or requests that wait for the user, window by window. Returns their numbers. */
export async function revokeFitting(app: App, fitting: Description, { dry_run, event, onProgress }: Sweep) {
  const now = app.clock.now()
  const client_ids = new Set<string>()
  let last: AuditEvent | undefined
  let rows = 0
  // Most rows are tokens: codes live for minutes, and a sign-in has many tokens.
  const sweep = async (
    op: (window: RevocationWindow) => Promise<Revoked>,
    from: number,
    [start, end]: [number, number],
  ) => {
    let count = 0
    for (let after: string | undefined = idFloor(from); after !== undefined; ) {
      const record: RevocationWindow['record'] = event && { event: event(), last: last?.created_at }
      const revoked: Revoked = await op({ ...fitting, rows: WINDOW_ROWS, now, dry_run, after, record })
      if (revoked.recorded) last = record?.event
      for (const client_id of revoked.client_ids) client_ids.add(client_id)
      count += revoked.count
      after = revoked.next
      rows += revoked.count
      // The windows are in the order of time.
      const share = after === undefined ? 1 : shareOf(idTime(after), Math.max(from, now - LONG_AGO), now)
      onProgress?.(rows, start + (end - start) * share)
    }
    return count
  }
  const { since = 0 } = fitting
  // No live token is older. Exchanged tokens are younger than their subject token.
  // Codes before families, because a code that is redeemed in between becomes a family.
  const requests = await sweep(app.store.cancelRequests, Math.max(since, now - REQUEST_LIFETIME), [0, 0.05])
  const tokens = await sweep(app.store.revokeTokens, Math.max(since, now - longestLife(app.config)), [0.05, 0.8])
  const families = await sweep(app.store.revokeFamilies, since, [0.8, 1])
  const toll = { tokens, families, requests, clients: client_ids.size }
  if (last) await app.store.completeAudit({ id: last.id, detail: { ...last.detail, ...toll } })
  return toll
}

const shareOf = (at: number, from: number, to: number): number =>
  Math.min(1, Math.max(0, (at - from) / Math.max(1, to - from)))

/** Whether to count only. It is a member of the body, where unknown members are refused. */
export const dryRun = jsonBool().prefault(false).describe('Only count what would be revoked.')

const CRITERIA = ['client_id', 'user_id', 'agent', 'kid', 'resource', 'since', 'until'] as const
const body = z
  .strictObject({
    client_id: name(2048).optional().describe('Tokens issued to this client.'),
    user_id: name().optional().describe('Tokens about this user, and sign-ins of this user.'),
    agent: name(2048).optional().describe('Tokens issued to this agent, or with this agent in the chain of actors.'),
    kid: name().optional().describe('Tokens signed with this key. Sign-ins have no key and are not revoked.'),
    resource: name(2048).optional().describe('Tokens for the resource with this URI.'),
    since: time().optional().describe('Tokens issued at or after this time (RFC 3339).'),
    until: time().optional().describe('Tokens issued before this time (RFC 3339).'),
    dry_run: dryRun,
  })
  .refine((given) => CRITERIA.some((each) => given[each] !== undefined), `needs one of ${CRITERIA.join(', ')}`)

export const revocations: AdminResource = {
  name: 'revocation',
  doc: 'Emergency revocation.',
  actions: {
    create: action('POST /admin/revocations', {
      doc: 'Revokes every live token and sign-in that matches all given criteria, and every token exchanged from one. Returns their numbers. Suspend the client or disable the user first, or they can get new tokens.',
      answer: answers.revoked,
      body,
      long: true,
      audit: 'tokens_revoked',
      tool: { name: 'revoke_tokens', title: 'Revoke tokens and sign-ins', destructive: true },
      cli: {
        command: 'revoke',
        flags: timeFlags('Tokens issued at or after this time.', 'Tokens issued before this time.'),
      },
      async run(app, { body: { dry_run, ...fitting } }, by) {
        checkRange(fitting)
        const event = () => by.event({ client_id: fitting.client_id, detail: fitting })
        const toll = await revokeFitting(app, fitting, { dry_run, event, onProgress: by.onProgress })
        const shown = { dry_run, ...toll }
        if (!dry_run && toll.clients > 0) app.metrics.count('core_tokens_revoked_total', { reason: 'emergency' })
        return { shown }
      },
    }),
  },
}
