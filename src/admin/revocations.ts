// Emergency stops: everything that fits a description is revoked in one call, after a dry run that says how much that is.
import { z } from 'zod'
import { longestLife } from '../config/lifetimes.ts'
import type { App } from '../context.ts'
import { bool, name, time } from '../lib/field.ts'
import { idFloor } from '../lib/id.ts'
import type { Description, RevocationWindow, Revoked } from '../store/revocations.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers.ts'
import { checkRange } from './export.ts'

/** Small enough that the tokens of others are not held up. */
const WINDOW_ROWS = 2000
/** Nobody waits longer than this for a decision, or with a code (endpoints/authorize.ts). */
const REQUEST_LIFETIME = 3600

export interface Toll {
  tokens: number
  families: number
  /** Codes that were not redeemed, and requests that wait for their user. */
  requests: number
  clients: number
}

/** Revokes live tokens, families and codes that fit, or with `dry_run` only counts them, window by window. */
export async function revokeFitting(app: App, fitting: Description, dry_run: boolean): Promise<Toll> {
  const now = app.clock.now()
  const window = { ...fitting, rows: WINDOW_ROWS, now, dry_run }
  const client_ids = new Set<string>()
  const sweep = async (op: (window: RevocationWindow) => Promise<Revoked>, from: number) => {
    let count = 0
    for (let after: string | undefined = idFloor(from); after !== undefined; ) {
      const revoked: Revoked = await op({ ...window, after })
      for (const client_id of revoked.client_ids) client_ids.add(client_id)
      count += revoked.count
      after = revoked.next
    }
    return count
  }
  const { since = 0 } = fitting
  // No token that is live is older; those exchanged from one are younger than it.
  // Codes before families: one that is redeemed in between is a family then.
  const requests = await sweep(app.store.cancelRequests, Math.max(since, now - REQUEST_LIFETIME))
  const tokens = await sweep(app.store.revokeTokens, Math.max(since, now - longestLife(app.config)))
  const families = await sweep(app.store.revokeFamilies, since)
  return { tokens, families, requests, clients: client_ids.size }
}

/** Whether a write is only to be counted; asked for in the body, where nothing unknown is overlooked. */
export const dryRun = bool().prefault(false).describe('Only tells what would be revoked.')

const CRITERIA = ['client_id', 'user_id', 'agent', 'kid', 'resource', 'since', 'until'] as const
const body = z
  .strictObject({
    client_id: name(2048).optional().describe('Issued to this client.'),
    user_id: name().optional().describe('About this user, and the sign-ins of this user.'),
    agent: name(2048).optional().describe('Issued to this agent, or with it anywhere in the chain of actors.'),
    kid: name().optional().describe('Signed with this key; sign-ins have none and go on.'),
    resource: name(2048).optional().describe('For this resource, by its URI.'),
    since: time().optional().describe('Issued at this RFC 3339 time or later.'),
    until: time().optional().describe('Issued before this RFC 3339 time.'),
    dry_run: dryRun,
  })
  .refine((given) => CRITERIA.some((each) => given[each] !== undefined), `needs one of ${CRITERIA.join(', ')}`)

export const revocations: AdminResource = {
  name: 'revocation',
  doc: 'Emergency stops.',
  actions: {
    create: action({
      method: 'POST',
      path: '/admin/revocations',
      doc: 'Revokes every live token and sign-in that fits all that is named, with every token exchanged from one, and tells how many. Who is not suspended first may go on and get new ones.',
      answer: answers.revoked,
      body,
      audit: 'tokens_revoked',
      count: ['core_tokens_revoked_total', { reason: 'emergency' }],
      cli: { command: 'revoke' },
      async run(app, { body: { dry_run, ...fitting } }) {
        checkRange(fitting)
        const toll = await revokeFitting(app, fitting, dry_run)
        const shown = { dry_run, ...toll }
        if (dry_run || toll.clients === 0) return { shown }
        return { shown, changed: { client_id: fitting.client_id, detail: { ...fitting, ...toll } } }
      },
    }),
  },
}
