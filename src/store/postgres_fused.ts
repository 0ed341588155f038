// Operations that run as one statement on PostgreSQL: a transaction of several statements costs a round trip for each, and keeps its
// locks meanwhile. Such a statement makes all changes of the operation, or none. When it makes none, the operation itself is run
// and finds the reason. The statements are written here; a test derives the same SQL from the operations.
import type { Job } from './database.ts'
import type { Op, Row, Statement } from './op.ts'
import { type InputOf, type OpName, ops } from './operations.ts'

export interface Fused {
  /** Returns a row when it has made all changes, and no row when it has made none. */
  statement: Statement
  /** The result of the operation when all changes are made. */
  value: unknown
}

/** A change that is made when the condition is true; it returns a row then. */
type Step = (condition: string) => string

const lockFamily: Step = (condition) =>
  `SELECT 1 FROM (SELECT revoked_at FROM token_families WHERE id = ? FOR UPDATE) held WHERE ${condition} AND held.revoked_at IS NULL`
const consumeToken: Step = (condition) =>
  `UPDATE refresh_tokens SET consumed_at = ?, next_id = ? WHERE id = ? AND consumed_at IS NULL AND ${condition} RETURNING 1`
const consumeCode: Step = (condition) =>
  `UPDATE authorization_requests SET consumed_at = ? WHERE id = ? AND consumed_at IS NULL AND ${condition} RETURNING 1`
const addFamily: Step = (condition) =>
  `INSERT INTO token_families (id, client_id, user_id, scope, asked_scope, resource, consent_id, authorization_id, jkt, created_at, sign_in) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE ${condition} RETURNING 1`
const addToken: Step = (condition) =>
  `INSERT INTO refresh_tokens (id, family_id, hash, expires_at) SELECT ?, ?, ?, ? WHERE ${condition} RETURNING 1`
/** Fails when the proof or assertion was used before: the changes before it must not be made without it. */
const addUse: Step = (condition) =>
  `INSERT INTO single_uses (id, kind, hash, expires_at) SELECT ?, ?, ?, ? WHERE ${condition} RETURNING 1`
/** Makes no change when the proof or assertion was used before; there are no changes before it. */
const addUseFirst: Step = (condition) =>
  `INSERT INTO single_uses (id, kind, hash, expires_at) SELECT ?, ?, ?, ? WHERE ${condition} ON CONFLICT DO NOTHING RETURNING 1`
const addIssuance: Step = (condition) =>
  `INSERT INTO issuances (id, grant_type, client_id, sub, resource, scope, issued_at, expires_at, kid, jkt, act, agent, family_id, consent_id, parent_id, broker_provider, ip, retry, typ)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE ${condition} RETURNING 1`

/** One statement of several steps. Each step makes its change only if the step before it has returned a row. */
function chain(...steps: readonly Step[]): string {
  const parts = steps.map((step, i) => `s${i} AS (${step(i > 0 ? `EXISTS (SELECT 1 FROM s${i - 1})` : 'true')})`)
  return `WITH ${parts.join(', ')} SELECT 1 AS done FROM s${steps.length - 1}`
}

/** The statements of an issuance with no use, with one (a proof or an assertion), and with two. */
const withUses = (...steps: readonly Step[]): readonly string[] =>
  [[], [addUse], [addUse, addUse]].map((uses) => chain(...steps, ...uses, addIssuance))

const ROTATE = withUses(lockFamily, consumeToken, addToken)
const REDEEM = withUses(consumeCode, addFamily)
const REDEEM_WITH_REFRESH = withUses(consumeCode, addFamily, addToken)
/** Without a use it is one statement already. */
const RECORD = [undefined, chain(addUseFirst, addIssuance), chain(addUseFirst, addUse, addIssuance)]

const usesOf = ({ uses = [] }: InputOf<'recordIssuance'>): number => uses.length

/** The statement of each operation, by its input. */
const FUSED: Partial<Record<OpName, (input: never) => string | undefined>> = {
  rotateRefreshToken: ({ issuance }: InputOf<'rotateRefreshToken'>) => ROTATE[usesOf(issuance)],
  redeemCode: ({ refresh, issuance }: InputOf<'redeemCode'>) =>
    (refresh ? REDEEM_WITH_REFRESH : REDEEM)[usesOf(issuance)],
  recordIssuance: (issuance: InputOf<'recordIssuance'>) => RECORD[usesOf(issuance)],
}

/** The row that the operations read: that of a family that is not revoked. */
const LIVE_FAMILY: Row = { revoked_at: null }

/** The one statement of an operation; undefined for an operation that has none. */
export function fuse({ op, input }: Job): Fused | undefined {
  const sql = FUSED[op]?.(input as never)
  if (sql === undefined) return undefined
  const { statements, value } = rehearse({ op, input })
  return { statement: { sql, params: statements.flatMap(({ params }) => params), want: 'one' }, value }
}

/** The statements that an operation yields, and what it returns, when nothing prevents its changes. */
export function rehearse({ op, input }: Job): { statements: Statement[]; value: unknown } {
  const operation = (ops[op] as (input: unknown) => Op<unknown>)(input)
  const statements: Statement[] = []
  let step = operation.next()
  for (; !step.done; step = operation.next(step.value.want === 'run' ? 1 : LIVE_FAMILY)) statements.push(step.value)
  return { statements, value: step.value }
}
