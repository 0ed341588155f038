// The store operation that belongs to a token, as data. A grant says which operation, with which input, and what each outcome
// means; issue.ts adds the record of the token and has it run here.
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Bearer } from '../../lib/id.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { Issuance } from '../../records/issuance.ts'
import type { Store } from '../../store/index.ts'
import type { InputOf, ResultOf } from '../../store/operations.ts'
import type { NewExchange, NewIssuance } from '../../store/tokens/issuances.ts'
import type { CounterName } from '../../telemetry/metric_names.ts'

/** What a grant adds to the input of each operation; the record of the token is added here. */
interface Inputs {
  redeemCode: Omit<InputOf<'redeemCode'>, 'issuance'>
  rotateRefreshToken: Omit<InputOf<'rotateRefreshToken'>, 'issuance'>
  recordRetry: Omit<InputOf<'recordRetry'>, 'issuance'>
  recordExchange: Pick<NewExchange, 'link'>
}
type CommitOp = keyof Inputs
type ResultName<Op extends CommitOp> = ResultOf<Op> & string

interface CommitOf<Op extends CommitOp> {
  readonly op: Op
  readonly input: Inputs[Op]
  readonly outcomes: Readonly<Record<ResultName<Op>, CommitOutcome>>
  /** The refresh token that the client receives after the commit. */
  readonly refresh_token?: string
}
/** A store operation with its input and the meaning of its outcomes. */
export type Commit = { [Op in CommitOp]: CommitOf<Op> }[CommitOp]

/** The token request that a commit answers. */
export type TokenRequest = Pick<Issuance, 'family_id'>

/** What follows from an outcome, in this order. An empty one means that the token is issued. */
export interface CommitOutcome {
  readonly counter?: CounterName
  /** The request is refused with invalid_grant. */
  readonly refusal?: { readonly description: string; readonly reason: Reason }
  /** Another request was first: `decide` makes the commit that answers this one, from the bearer value that was sent. */
  readonly next?: {
    readonly decide: (app: App, sent: Bearer, request: TokenRequest) => Promise<Commit>
    readonly sent: Bearer
  }
}

/** The token is issued. */
export const ISSUED: CommitOutcome = {}

type Run<Op extends CommitOp> = (store: Store, input: Inputs[Op], issuance: NewIssuance) => Promise<ResultName<Op>>

/**
 * How the record of the token is added to the input of each operation. Every member is named, because V8 makes a new hidden class for each
 * object that begins with a spread and has further members, which costs about 1 us for each of them.
 */
const RUN: { readonly [Op in CommitOp]: Run<Op> } = {
  redeemCode: (store, { family, authorization_details, refresh, keeps, now }, issuance) =>
    store.redeemCode({ family, authorization_details, refresh, keeps, now, issuance }),
  rotateRefreshToken: (store, { used, next, retried_since, now }, issuance) =>
    store.rotateRefreshToken({ used, next, retried_since, now, issuance }),
  recordRetry: (store, { family_id }, issuance) =>
    store.recordRetry({ family_id, issuance: { retry: true, ...issuance } }),
  recordExchange: (store, { link }, issuance) => store.recordExchange({ link, ...issuance }),
}

/** Commits a token; without a commit only its record. Returns the refresh token to answer with. Throws the refusal that an outcome means. */
export async function runCommit(
  app: App,
  commit: Commit | undefined,
  issuance: NewIssuance,
): Promise<string | undefined> {
  if (!commit) {
    await app.store.recordIssuance(issuance)
    return undefined
  }
  const outcome = await outcomeOf(app.store, commit, issuance)
  if (outcome === ISSUED) return commit.refresh_token
  const { counter, refusal, next } = outcome
  if (counter) app.metrics.count(counter)
  if (refusal) throw new OAuthError('invalid_grant', refusal.description, { reason: refusal.reason })
  if (!next) return commit.refresh_token
  return runCommit(app, await next.decide(app, next.sent, issuance), issuance)
}

const outcomeOf = async <Op extends CommitOp>(
  store: Store,
  { op, input, outcomes }: CommitOf<Op>,
  issuance: NewIssuance,
): Promise<CommitOutcome> => outcomes[await RUN[op](store, input, issuance)]
