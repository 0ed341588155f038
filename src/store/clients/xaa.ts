// Operations on identity providers, their policies and their subject mappings.
import type { Idp, SubjectMapping, XaaPolicy } from '../../records/idp.ts'
import { type ListPage, type ListSpec, listPage } from '../list.ts'
import {
  all,
  change,
  containing,
  decoded,
  flag,
  forUpdate,
  idBytes,
  is,
  num,
  type Op,
  one,
  type Row,
  str,
  where,
} from '../op.ts'

const IDP = 'id, name, issuer, audience, jwks_uri, enabled, subject_tokens, audiences, version, created_at, updated_at'
const POLICY = 'id, idp_id, name, client_ids, scopes, resources, enabled, version, created_at, updated_at'
const MAPPING = 'id, idp_id, mode, federated_subject, local_subject, created_at'

const readIdp = (row: Row): Idp => ({
  id: str(row.id),
  name: str(row.name),
  issuer: str(row.issuer),
  audience: str(row.audience),
  jwks_uri: str(row.jwks_uri),
  enabled: flag(row.enabled),
  subject_tokens: flag(row.subject_tokens),
  audiences: decoded(row.audiences),
  version: num(row.version),
  created_at: num(row.created_at),
  updated_at: num(row.updated_at),
})

const readPolicy = (row: Row): XaaPolicy => ({
  id: str(row.id),
  idp_id: str(row.idp_id),
  name: str(row.name),
  client_ids: decoded(row.client_ids),
  scopes: row.scopes === null ? undefined : decoded(row.scopes),
  resources: decoded(row.resources),
  enabled: flag(row.enabled),
  version: num(row.version),
  created_at: num(row.created_at),
  updated_at: num(row.updated_at),
})

const readMapping = (row: Row): SubjectMapping => ({
  id: str(row.id),
  idp_id: str(row.idp_id),
  mode: row.mode as SubjectMapping['mode'],
  federated_subject: str(row.federated_subject),
  local_subject: str(row.local_subject),
  created_at: num(row.created_at),
})

const mutableIdp = (idp: Idp) => [
  idp.name,
  idp.audience,
  idp.jwks_uri,
  Number(idp.enabled),
  Number(idp.subject_tokens),
  JSON.stringify(idp.audiences),
  idp.updated_at,
]
const mutablePolicy = (policy: XaaPolicy) => [
  policy.name,
  JSON.stringify(policy.client_ids),
  policy.scopes ? JSON.stringify(policy.scopes) : null,
  JSON.stringify(policy.resources),
  Number(policy.enabled),
  policy.updated_at,
]

/** Locks an identity provider until the commit, so that it is not deleted. False when it does not exist. */
function* lockIdp(id: string): Op<boolean> {
  return (yield* forUpdate('SELECT 1 AS found FROM idps WHERE id = ?', id)) !== undefined
}

/** The row with this id. */
export function* findIdp({ id }: { id: string }): Op<Idp | undefined> {
  const row = yield* one(`SELECT ${IDP} FROM idps WHERE id = ?`, id)
  return row && readIdp(row)
}

/** The identity provider with an issuer, compared byte for byte. */
export function* findIdpByIssuer({ issuer }: { issuer: string }): Op<Idp | undefined> {
  const row = yield* one(`SELECT ${IDP} FROM idps WHERE issuer = ?`, issuer)
  return row && readIdp(row)
}

/** In order of creation. */
export function* listIdps(): Op<Idp[]> {
  return (yield* all(`SELECT ${IDP} FROM idps ORDER BY created_at, id`)).map(readIdp)
}

/** Adds an identity provider. `exists` when there is one with this issuer. */
export function* createIdp(idp: Idp): Op<'created' | 'exists'> {
  const added = yield* change(
    `INSERT INTO idps (name, audience, jwks_uri, enabled, subject_tokens, audiences, updated_at, id, issuer, version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ...mutableIdp(idp),
    idp.id,
    idp.issuer,
    idp.version,
    idp.created_at,
  )
  return added === 1 ? 'created' : 'exists'
}

/** Writes an identity provider that was read at `idp.version`. Its issuer cannot change. */
export function* updateIdp(idp: Idp): Op<'updated' | 'stale'> {
  const changed = yield* change(
    'UPDATE idps SET name = ?, audience = ?, jwks_uri = ?, enabled = ?, subject_tokens = ?, audiences = ?, updated_at = ?, version = version + 1 WHERE id = ? AND version = ?',
    ...mutableIdp(idp),
    idp.id,
    idp.version,
  )
  return changed === 1 ? 'updated' : 'stale'
}

/** Deletes an identity provider with its policies and mappings. Returns the numbers of both. */
export function* deleteIdp({ id }: { id: string }): Op<{ policies: number; subject_mappings: number } | undefined> {
  if ((yield* change('DELETE FROM idps WHERE id = ?', id)) === 0) return undefined
  const policies = yield* change('DELETE FROM xaa_policies WHERE idp_id = ?', id)
  const subject_mappings = yield* change('DELETE FROM subject_mappings WHERE idp_id = ?', id)
  return { policies, subject_mappings }
}

/** The row with this id. */
export function* findPolicy({ id }: { id: string }): Op<XaaPolicy | undefined> {
  const row = yield* one(`SELECT ${POLICY} FROM xaa_policies WHERE id = ?`, id)
  return row && readPolicy(row)
}

/** Sorted by the bytes of the ids, which are time-ordered; their text sorts differently. */
const olderFirst = (a: XaaPolicy, b: XaaPolicy): number =>
  a.created_at - b.created_at || Buffer.compare(idBytes(a.id.slice(2)), idBytes(b.id.slice(2)))

/** The policies of one identity provider or of all, in the order in which they are evaluated: the order of creation, also within a second. */
export function* listPolicies({ idp_id }: { idp_id?: string }): Op<XaaPolicy[]> {
  const { sql, params } = where(is('idp_id', idp_id))
  const rows = yield* all(`SELECT ${POLICY} FROM xaa_policies ${sql} ORDER BY created_at, id`, ...params)
  return rows.map(readPolicy).sort(olderFirst)
}

/** Adds a policy. Undefined when its identity provider does not exist. */
export function* createPolicy(policy: XaaPolicy): Op<'created' | undefined> {
  if (!(yield* lockIdp(policy.idp_id))) return undefined
  yield* change(
    `INSERT INTO xaa_policies (name, client_ids, scopes, resources, enabled, updated_at, id, idp_id, version, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...mutablePolicy(policy),
    policy.id,
    policy.idp_id,
    policy.version,
    policy.created_at,
  )
  return 'created'
}

/** Writes a policy that was read at `policy.version`. Its identity provider cannot change. */
export function* updatePolicy(policy: XaaPolicy): Op<'updated' | 'stale'> {
  const changed = yield* change(
    'UPDATE xaa_policies SET name = ?, client_ids = ?, scopes = ?, resources = ?, enabled = ?, updated_at = ?, version = version + 1 WHERE id = ? AND version = ?',
    ...mutablePolicy(policy),
    policy.id,
    policy.version,
  )
  return changed === 1 ? 'updated' : 'stale'
}

/** Deletes a policy. Returns the deleted policy. */
export function* deletePolicy({ id }: { id: string }): Op<XaaPolicy | undefined> {
  const row = yield* one(`DELETE FROM xaa_policies WHERE id = ? RETURNING ${POLICY}`, id)
  return row && readPolicy(row)
}

/** The mapping of a subject (the `sub` of an assertion, compared byte for byte) of an identity provider. */
export function* findSubjectMapping({
  idp_id,
  federated_subject,
}: Pick<SubjectMapping, 'idp_id' | 'federated_subject'>): Op<SubjectMapping | undefined> {
  const row = yield* one(
    `SELECT ${MAPPING} FROM subject_mappings WHERE idp_id = ? AND federated_subject = ?`,
    idp_id,
    federated_subject,
  )
  return row && readMapping(row)
}

export interface MappingFilter extends ListPage {
  idp_id?: string
  /** Only mappings with this text in one of their subjects. */
  q?: string
}
const MAPPINGS: ListSpec = { table: 'subject_mappings', columns: MAPPING, at: 'created_at', id: 'id' }

/** The mappings of one identity provider or of all, ordered by age. */
export function* listSubjectMappings({ idp_id, q, ...page }: MappingFilter): Op<SubjectMapping[]> {
  const text = q === undefined ? undefined : containing(q, 'federated_subject', 'local_subject')
  return (yield* listPage(MAPPINGS, page, is('idp_id', idp_id), text)).map(readMapping)
}

/** The mapping with this id. */
export function* findSubjectMappingById({ id }: { id: string }): Op<SubjectMapping | undefined> {
  const row = yield* one(`SELECT ${MAPPING} FROM subject_mappings WHERE id = ?`, id)
  return row && readMapping(row)
}

/** Adds a mapping. `exists` when the subject is mapped already. Undefined when the identity provider does not exist. */
export function* createSubjectMapping(m: SubjectMapping): Op<'created' | 'exists' | undefined> {
  if (!(yield* lockIdp(m.idp_id))) return undefined
  const added = yield* change(
    `INSERT INTO subject_mappings (id, idp_id, mode, federated_subject, local_subject, created_at)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    m.id,
    m.idp_id,
    m.mode,
    m.federated_subject,
    m.local_subject,
    m.created_at,
  )
  return added === 1 ? 'created' : 'exists'
}

/** Deletes a mapping. Returns the deleted mapping. */
export function* deleteSubjectMapping({ id }: { id: string }): Op<SubjectMapping | undefined> {
  const row = yield* one(`DELETE FROM subject_mappings WHERE id = ? RETURNING ${MAPPING}`, id)
  return row && readMapping(row)
}
