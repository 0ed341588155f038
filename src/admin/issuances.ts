// Admin operations on issued tokens. They delete no rows.
import { z } from 'zod'
import { issuerOf } from '../config/issuer.ts'
import type { App } from '../context.ts'
import { duration, int, text } from '../lib/field.ts'
import { idFloor, isId } from '../lib/id.ts'
import { DAY, dated, rfc3339 } from '../lib/time.ts'
import { isUserId } from '../oauth/clients/client_metadata.ts'
import { claimsOf, tokenType } from '../oauth/tokens/access_token.ts'
import { scopeNames } from '../oauth/tokens/resource.ts'
import type { Issuance } from '../records/issuance.ts'
import type { Store } from '../store/index.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers/answers.ts'
import { exportEvent, idRange, newestFirst, range } from './export.ts'
import { after } from './lists.ts'
import { conflict, existing } from './outcome.ts'
import { exportFlags, periodFlag } from './time_flags.ts'

/** An issued token as the admin API lists it. */
export const issuanceJson = (issuance: Issuance) =>
  dated({
    id: issuance.id,
    jti: issuance.id,
    grant_type: issuance.grant_type,
    sub: issuance.sub,
    subject_user_id: isUserId(issuance.sub) ? issuance.sub : undefined,
    client_id: issuance.client_id,
    resource: issuance.resource ?? '',
    scope: issuance.scope,
    scopes: scopeNames(issuance.scope),
    authorization_details: issuance.authorization_details,
    token_type: tokenType(issuance),
    backend_kind: issuance.broker_provider ? 'broker' : 'mint',
    broker_provider_slug: issuance.broker_provider,
    revocable: issuance.broker_provider === undefined,
    issued_at: issuance.issued_at,
    expires_at: issuance.expires_at,
    revoked_at: issuance.revoked_at,
    jkt: issuance.jkt,
    parent_jti: issuance.parent_id,
    retry: issuance.retry,
    kid: issuance.kid,
    ip: issuance.ip,
  })

/** The issuer at the time when a token was issued. */
async function issuerAt({ store, config }: App, at: number): Promise<string> {
  const issuers = await store.listIssuers()
  return issuers.find(({ since }) => since <= at)?.issuer ?? issuerOf(config)
}

const filters = {
  user_id: text(256).optional().describe('Only tokens about this user.'),
  client_id: text(2048).optional().describe('Only tokens of this client.'),
  resource: text(2048).optional().describe('Only tokens for this resource: URI, slug or id.'),
}

async function filterOf(
  store: Store,
  { user_id, client_id, resource: name }: { user_id?: string; client_id?: string; resource?: string },
) {
  const resource = name && ((await store.findResourceByName({ name }))?.uri ?? name)
  return { sub: user_id, client_id, resource }
}

export const issuances: AdminResource = {
  name: 'issuance',
  item: 'token (its jti)',
  doc: 'Issued tokens.',
  columns: ['issued_at', 'grant_type', 'client_id', 'sub', 'resource', 'scope', 'id'],
  actions: {
    list: action('GET /admin/issuances', {
      doc: 'Lists issued tokens, newest first.',
      answer: answers.issuancesAnswer,
      tool: { name: 'issuances', title: 'Issued tokens', rows: 'issuances' },
      query: z.strictObject({
        ...filters,
        since: duration(0, 30 * DAY)
          .prefault('24h')
          .describe('Period to list, such as 90s, 24h or 7d. At most 30d.'),
        limit: int(1, 5000).prefault(500).describe('Maximum number of items.'),
        after,
      }),
      cli: {
        flags: { user: { field: 'user_id' }, client: { field: 'client_id' }, since: periodFlag },
        rows: 'issuances',
      },
      async run({ store, clock }, { query: { since, after: before, limit, ...filter } }) {
        const from = clock.now() - since
        const fitting = { ...(await filterOf(store, filter)), since: idFloor(from) }
        const found = await store.listIssuances({ ...fitting, before, limit })
        return { shown: { issuances: found.map(issuanceJson), since: rfc3339(from), count: found.length } }
      },
    }),
    export: action('GET /admin/issuances/export', {
      doc: 'Streams issued tokens as JSON lines, newest first.',
      answer: answers.issuance,
      lines: true,
      audit: 'data_exported',
      query: z.strictObject({ ...filters, ...range }),
      cli: { flags: { user: { field: 'user_id' }, client: { field: 'client_id' }, ...exportFlags } },
      async run({ store, config }, { query }) {
        const { since, until, ...filter } = query
        const bounds = idRange({ since, until })
        const fitting = { ...(await filterOf(store, filter)), since: bounds.since }
        const page = (before: string | undefined, limit: number) => store.listIssuances({ ...fitting, before, limit })
        const noted = exportEvent(config, 'issuances', query)
        return { shown: newestFirst(page, bounds.until, issuanceJson), noted }
      },
    }),
    get: action('GET /admin/issuances/{id}', {
      doc: 'Shows an issued token with its claims, and whether it is still active. The claims of tokens of a provider are not known.',
      answer: answers.issuanceDetail,
      async run(app, { params: { id } }) {
        const state = await existing('issuance', isId(id) ? app.store.findTokenState({ id }) : undefined)
        const { issuance, live } = state
        const shown = { ...issuanceJson(issuance), act: issuance.act }
        // The claims of a provider's token are not known.
        if (issuance.broker_provider) return { shown }
        const claims = claimsOf(issuance, await issuerAt(app, issuance.issued_at))
        return { shown: { ...shown, active: live && issuance.expires_at > app.clock.now(), claims } }
      },
    }),
    revoke: action('DELETE /admin/issuances/{id}', {
      doc: 'Revokes an issued token and every token exchanged from it, except tokens of providers.',
      audit: 'issuance_revoked',
      tool: {
        name: 'revoke_token',
        title: 'Revoke one token',
        destructive: 'get',
        params: { id: { name: 'jti', doc: 'Id of the token: its jti.' } },
      },
      async run({ store, clock }, { params: { id } }, by) {
        const issuance = await existing('issuance', isId(id) ? store.findIssuance({ id }) : undefined)
        if (issuance.broker_provider)
          throw conflict('tokens of a provider can be revoked only at the provider', 'not_revocable')
        const change = { client_id: issuance.client_id, detail: { jti: id, tokens: 0 } }
        await by.record('revokeIssuance', { id, now: clock.now() }, change)
      },
    }),
  },
}
