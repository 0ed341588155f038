// Operations on the record of issued tokens.
import { idFloor, idTime } from '../../lib/id.ts'
import { DAY } from '../../lib/time.ts'
import type { Issuance } from '../../records/issuance.ts'
import type { SingleUse } from '../../records/single_use.ts'
import { type Ends, findFrontingLink } from '../clients/fronting.ts'
import {
  change,
  exists,
  idBytes,
  is,
  maybeIdBytes,
  maybeNum,
  maybeStr,
  type Op,
  one,
  type Row,
  str,
  where,
} from '../op.ts'
import { DEAD_AT, ENDED_BY, ISSUANCES, isAbout } from '../record.ts'
import { recordUse } from './single_uses.ts'

/** A token that is about to be issued, with the DPoP proof and the client assertion that it consumes. */
export type NewIssuance = Issuance & { uses?: readonly SingleUse[] }

/** Records an issued token. Part of every operation that issues one. Throws when its proof or assertion was used before. */
export function* recordIssuance(i: NewIssuance): Op<void> {
  for (const use of i.uses ?? []) yield* recordUse(use)
  yield* ISSUANCES.add(i)
}

/** The key id of the newest unexpired token that was issued after an id. Upstream tokens are excluded, because this service does not sign them. */
export function* findLiveKid({ after, now }: { after: string; now: number }): Op<string | undefined> {
  const row = yield* one`SELECT kid FROM issuances WHERE id > ${idBytes(after)} AND expires_at > ${now}
    AND broker_provider IS NULL ORDER BY id DESC LIMIT 1`
  return row && str(row.kid)
}

/** The record of an issued token, by its jti. */
export const findIssuance = ({ id }: { id: string }) => ISSUANCES.find`WHERE id = ${idBytes(id)}`

export interface TokenState {
  /** True when neither the token, its family, its consent nor any token it was exchanged for is revoked. */
  live: boolean
  /** The number of exchanges that led to it. For a token that is not live, only the exchanges that were examined. */
  exchanges: number
  /** Status of the user that is the subject. Undefined when the subject is not a user of this service, or was deleted. */
  user_status?: string
  user_version?: number
  /** The scope of its consent now. Undefined when it was issued without one. */
  consent_scope?: string
  /** What its consent is for: the id of a resource, or USERINFO_CONSENT. */
  consent_resource_id?: string
  issuance: Issuance
}

const TOKEN_STATE = `SELECT ${ISSUANCES.as('i').columns}, ${DEAD_AT}, u.status AS user_status, u.version AS user_version, c.scope AS consent_scope, c.resource_id AS consent_resource_id
  FROM issuances i ${ENDED_BY} LEFT JOIN users u ON u.id = i.sub WHERE i.id = ?`
const ANCESTOR = `SELECT i.parent_id, ${DEAD_AT}, cl.status AS client_status
  FROM issuances i ${ENDED_BY} LEFT JOIN clients cl ON cl.client_id = i.client_id WHERE i.id = ?`

/** The current state of an issued token. Undefined when it was never recorded here. */
export function* findTokenState({ id }: { id: string }): Op<TokenState | undefined> {
  const row = yield* one({ sql: TOKEN_STATE, params: [idBytes(id)] })
  if (!row) return undefined
  const { live, exchanges } = yield* ancestorsOf(row.parent_id)
  return {
    live: live && row.dead_at === null,
    exchanges,
    user_status: maybeStr(row.user_status),
    user_version: maybeNum(row.user_version),
    consent_scope: maybeStr(row.consent_scope),
    consent_resource_id: maybeStr(row.consent_resource_id),
    issuance: ISSUANCES.read(row),
  }
}

/** Whether every token that this one was exchanged for, directly or indirectly, is live and belongs to a client that is not suspended. */
function* ancestorsOf(parent_id: unknown): Op<Pick<TokenState, 'live' | 'exchanges'>> {
  let exchanges = 0
  for (let id = parent_id as Buffer | null; id !== null; exchanges++) {
    const row: Row | undefined = yield* one({ sql: ANCESTOR, params: [id] })
    if (!row || row.dead_at !== null || row.client_status === 'suspended') return { live: false, exchanges }
    id = row.parent_id as Buffer | null
  }
  return { live: true, exchanges }
}

/** A token that is about to be issued in exchange for another one, with the fronting link that it depends on. */
export type NewExchange = NewIssuance & { link?: Ends }

/** Records a token that was exchanged for another one, unless that token, or the consent or link it depends on, was revoked in the meantime. */
export function* recordExchange(
  issuance: NewExchange,
): Op<'recorded' | 'subject_revoked' | 'consent_revoked' | 'link_deleted'> {
  if (!(yield* ancestorsOf(maybeIdBytes(issuance.parent_id))).live) return 'subject_revoked'
  const consent = issuance.consent_id
    ? yield* one`SELECT revoked_at FROM consent_grants WHERE id = ${idBytes(issuance.consent_id)}`
    : undefined
  if (consent && consent.revoked_at !== null) return 'consent_revoked'
  if (issuance.link && !(yield* findFrontingLink(issuance.link))) return 'link_deleted'
  yield* recordIssuance(issuance)
  return 'recorded'
}

/** Maximum difference between the clocks of instances in seconds, with a wide margin. A token is not older than the token it was exchanged for. */
const CLOCKS_APART = DAY

/** Revokes a token and every token of this service that was exchanged from it. Returns the number of tokens that were live. */
export function* revokeIssuance({ id, now }: { id: string; now: number }): Op<number> {
  const revoked = yield* change`UPDATE issuances SET revoked_at = ${now} WHERE id = ${idBytes(id)}
    AND revoked_at IS NULL AND broker_provider IS NULL`
  // Partitions before it need not be searched.
  const oldest = idBytes(idFloor(idTime(id) - CLOCKS_APART))
  if (!(yield* exists`issuances WHERE parent_id = ${idBytes(id)} AND id >= ${oldest}`)) return revoked
  return (
    revoked +
    (yield* change`WITH RECURSIVE descendants (id) AS (
        SELECT id FROM issuances WHERE parent_id = ${idBytes(id)} AND id >= ${oldest}
        UNION SELECT i.id FROM issuances i JOIN descendants d ON i.parent_id = d.id WHERE i.id >= ${oldest}
      ) UPDATE issuances SET revoked_at = ${now} WHERE revoked_at IS NULL AND broker_provider IS NULL
        AND id >= ${oldest} AND id IN (SELECT id FROM descendants)`)
  )
}

export interface IssuanceFilter {
  sub?: string
  client_id?: string
  resource?: string
  /** Only ids from this one on (lib/id.ts idFloor). */
  since: string
  /** Only ids before this one: the next page. */
  before?: string
  limit: number
}
/** Newest first. */
export function* listIssuances(f: IssuanceFilter): Op<Issuance[]> {
  const filter = where(
    isAbout(f.sub),
    is('client_id', f.client_id),
    is('resource', f.resource),
    ['id >= ?', idBytes(f.since)],
    f.before === undefined ? undefined : ['id < ?', idBytes(f.before)],
  )
  return yield* ISSUANCES.list`${filter} ORDER BY id DESC LIMIT ${f.limit}`
}
