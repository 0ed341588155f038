// The tokens that an event concerns, for the resources of one stream, and the security events that name them.
import { longestLife } from '../config/lifetimes.ts'
import type { App } from '../context.ts'
import { idFloor } from '../lib/id.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { EventReceiver } from '../records/event_receiver.ts'
import type { Resource } from '../records/resource.ts'
import type { Description } from '../store/tokens/revocations.ts'
import type { ConcernedToken } from '../store/tokens/revoked_tokens.ts'
import { TOKEN_REVOKED } from './event_types.ts'

/** A security event. Its jti is the id of the audit event with this suffix, so it is the same each time the security event is created. */
export interface SecurityEvent {
  type: string
  suffix: string
  sub_id: Readonly<Record<string, unknown>>
  payload: Readonly<Record<string, unknown>>
}

/** An audit event, and a stream that may need security events that follow from it. */
export interface Question {
  app: App
  event: AuditEvent
  stream: EventReceiver
  resources: readonly Resource[]
}
export type Answer = (question: Question) => SecurityEvent[] | Promise<SecurityEvent[]>

/** The URIs of the resources of the stream. */
export const urisOf = ({ resources }: Question): string[] => resources.flatMap(({ uri }) => uri ?? [])

/** The time bounds of a search for tokens. Tokens that were issued before `liveFrom` have expired. */
const bounds = ({ app: { config, clock } }: Question) => {
  const now = clock.now()
  return { now, liveFrom: idFloor(now - longestLife(config) - 60) }
}

/** Whether a user or client has unexpired tokens for a resource of the stream. */
export const hasTokens = async (question: Question, who: { sub?: string; client_id?: string }): Promise<boolean> =>
  (await question.app.store.countTokensFor({ ...who, resources: urisOf(question), ...bounds(question) })) > 0

/** A subject without a meaning of its own. */
export const opaque = (id: string) => ({ format: 'opaque', id })

/** A token-revoked event for every token that was issued before the event and has these claims. */
export const revokedBy = (claims: Readonly<Record<string, unknown>>, suffix = 'tokens'): SecurityEvent[] => [
  { type: TOKEN_REVOKED, suffix, sub_id: opaque(String(Object.values(claims)[0])), payload: claims },
]

/** Maximum number of tokens that one event names. */
const MOST_CONCERNED = 1000

/** A token-revoked event for each token. If there are too many to name: for every token of the resources of the stream. */
function each(question: Question, tokens: readonly ConcernedToken[], more: object): SecurityEvent[] {
  const mine = urisOf(question)
  if (tokens.length > MOST_CONCERNED) return mine.flatMap((aud, at) => revokedBy({ aud }, `all-${at}`))
  return tokens
    .filter(({ resource }) => mine.includes(resource))
    .map(({ id, expires_at }) => ({
      type: TOKEN_REVOKED,
      suffix: id,
      sub_id: opaque(id),
      payload: { jti: id, exp: expires_at, ...more },
    }))
}

/** What ended: a token, a family, or what other clients got under the consent of a user to a client. */
type Ended = { jti: string } | { family: string } | { consent_id: string; user_id: string; client_id: string }

/** A token-revoked event for each token that ended with it. */
export const endedTokens =
  (find: (event: AuditEvent) => Ended | undefined): Answer =>
  async (question) => {
    const of = find(question.event)
    if (!of) return []
    const found = await question.app.store.listConcernedTokens({
      ...of,
      ...bounds(question),
      limit: MOST_CONCERNED + 1,
    })
    return each(question, found, 'family' in of ? { family: of.family } : {})
  }

/** Number of tokens that are examined at once, and the maximum number of such steps. */
const [ROWS, MOST_STEPS] = [2000, 100]

/**
 * A token-revoked event for each token that was exchanged from tokens that match: they end together, but the exchanged ones may have
 * another client, key and resource.
 */
export async function exchangedFrom(question: Question, of: Description): Promise<SecurityEvent[]> {
  const { now, liveFrom } = bounds(question)
  const found: ConcernedToken[] = []
  let after: string | undefined = liveFrom
  for (let step = 0; after !== undefined && found.length <= MOST_CONCERNED; step++) {
    if (step === MOST_STEPS) return urisOf(question).flatMap((aud, at) => revokedBy({ aud }, `all-${at}`))
    const range = { of, resources: urisOf(question), after, rows: ROWS, now, liveFrom, limit: MOST_CONCERNED + 1 }
    const { tokens, next }: { tokens: ConcernedToken[]; next?: string } =
      await question.app.store.listExchangedTokens(range)
    found.push(...tokens)
    after = next
  }
  return each(question, found, {})
}
