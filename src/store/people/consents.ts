// Operations on consents.
import type { Consent } from '../../records/consent.ts'
import { all, change, idBytes, type Op, part, raw, str } from '../op.ts'
import { endFamilies } from '../tokens/families.ts'
import { CONSENTS } from '../tokens/token_rows.ts'

/** The consent in force. */
export const findConsent = ({
  user_id,
  client_id,
  resource_id,
}: Pick<Consent, 'user_id' | 'client_id' | 'resource_id'>) =>
  CONSENTS.find`WHERE user_id = ${user_id} AND client_id = ${client_id} AND resource_id = ${resource_id}
    AND revoked_at IS NULL`

/** Consents and grants of one client that are read to tell whether it has several users. */
const MAX_READ = 100

/** The users who consented to a client, also if they revoked it: at most two. A consent without a resource is known by its first token. */
export function* listConsenters({ client_id }: Pick<Consent, 'client_id'>): Op<string[]> {
  const found = part`WHERE client_id = ${client_id} LIMIT ${raw(MAX_READ)}`
  const rows = yield* all`SELECT DISTINCT user_id FROM (
      SELECT user_id FROM (SELECT user_id FROM consent_grants ${found}) AS consents
      UNION ALL SELECT user_id FROM (SELECT user_id FROM token_families ${found}) AS families
    ) AS found LIMIT 2`
  return rows.map(({ user_id }) => str(user_id))
}

/** The consent with this id, in force or revoked. */
export const findConsentById = ({ id }: { id: string }) => CONSENTS.find`WHERE id = ${idBytes(id)}`

/** Every consent of a user, revoked ones included, oldest first. */
export const listConsents = ({ user_id }: { user_id: string }) => CONSENTS.list`WHERE user_id = ${user_id} ORDER BY id`

export interface RevokedConsent {
  consent: Consent
  families: number
}
/** Revokes a consent and every token that depends on it. Tokens contain the id of their consent. */
export function* revokeConsent({ id, now }: { id: string; now: number }): Op<RevokedConsent | undefined> {
  const consent = yield* findConsentById({ id })
  if (!consent) return undefined
  yield* change`UPDATE consent_grants SET revoked_at = ${now} WHERE id = ${idBytes(id)} AND revoked_at IS NULL`
  const families = yield* endFamilies('consent_id', idBytes(id), 'consent_revoked', now)
  return { consent, families }
}
