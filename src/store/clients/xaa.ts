// Operations on identity providers, their policies and their subject mappings.
import { compareIds } from '../../lib/id.ts'
import type { Idp, SubjectMapping, XaaPolicy } from '../../records/idp.ts'
import { type ListPage, type ListSpec, listPage } from '../list.ts'
import { change, containing, forUpdate, is, type Op, where } from '../op.ts'
import { column, plainTable, recordTable } from '../table.ts'

const IDPS = recordTable<Idp>('idps', 'id', {
  id: column.text(),
  name: column.text(),
  issuer: column.fixed(column.text()),
  audience: column.text(),
  jwks_uri: column.text(),
  enabled: column.bool,
  subject_tokens: column.bool,
  audiences: column.json(),
  version: column.int,
  created_at: column.fixed(column.int),
  updated_at: column.int,
})
const POLICIES = recordTable<XaaPolicy>('xaa_policies', 'id', {
  id: column.text(),
  idp_id: column.fixed(column.text()),
  name: column.text(),
  client_ids: column.json(),
  scopes: column.maybeJson(),
  resources: column.json(),
  enabled: column.bool,
  version: column.int,
  created_at: column.fixed(column.int),
  updated_at: column.int,
})
const MAPPINGS = plainTable<SubjectMapping>('subject_mappings', {
  id: column.text(),
  idp_id: column.text(),
  mode: column.text(),
  federated_subject: column.text(),
  local_subject: column.text(),
  created_at: column.int,
})

/** Locks an identity provider until the commit, so that it is not deleted. False when it does not exist. */
function* lockIdp(id: string): Op<boolean> {
  return (yield* forUpdate`SELECT 1 AS found FROM idps WHERE id = ${id}`) !== undefined
}

/** The row with this id. */
export const findIdp = ({ id }: { id: string }) => IDPS.find`WHERE id = ${id}`

/** The identity provider with an issuer, compared byte for byte. */
export const findIdpByIssuer = ({ issuer }: { issuer: string }) => IDPS.find`WHERE issuer = ${issuer}`

/** In order of creation. */
export const listIdps = () => IDPS.list`ORDER BY created_at, id`

/** Adds an identity provider. `exists` when there is one with this issuer. */
export const createIdp = (idp: Idp) => IDPS.create(idp)

/** Writes an identity provider that was read at `idp.version`. Its issuer cannot change. */
export const updateIdp = (idp: Idp) => IDPS.update(idp)

/** Deletes an identity provider with its policies and mappings. Returns the numbers of both. */
export function* deleteIdp({ id }: { id: string }): Op<{ policies: number; subject_mappings: number } | undefined> {
  if ((yield* change`DELETE FROM idps WHERE id = ${id}`) === 0) return undefined
  const policies = yield* change`DELETE FROM xaa_policies WHERE idp_id = ${id}`
  const subject_mappings = yield* change`DELETE FROM subject_mappings WHERE idp_id = ${id}`
  return { policies, subject_mappings }
}

/** The row with this id. */
export const findPolicy = ({ id }: { id: string }) => POLICIES.find`WHERE id = ${id}`

/** Sorted by the bytes of the ids, which are time-ordered; their text sorts differently. */
const olderFirst = (a: XaaPolicy, b: XaaPolicy): number =>
  a.created_at - b.created_at || compareIds(a.id.slice(2), b.id.slice(2))

/** The policies of one identity provider or of all, in the order in which they are evaluated: the order of creation, also within a second. */
export function* listPolicies({ idp_id }: { idp_id?: string }): Op<XaaPolicy[]> {
  return (yield* POLICIES.list`${where(is('idp_id', idp_id))} ORDER BY created_at, id`).sort(olderFirst)
}

/** Adds a policy. Undefined when its identity provider does not exist. */
export function* createPolicy(policy: XaaPolicy): Op<'created' | undefined> {
  if (!(yield* lockIdp(policy.idp_id))) return undefined
  yield* POLICIES.add(policy)
  return 'created'
}

/** Writes a policy that was read at `policy.version`. Its identity provider cannot change. */
export const updatePolicy = (policy: XaaPolicy) => POLICIES.update(policy)

/** Deletes a policy. Returns the deleted policy. */
export const deletePolicy = ({ id }: { id: string }) => POLICIES.remove`id = ${id}`

/** The mapping of a subject (the `sub` of an assertion, compared byte for byte) of an identity provider. */
export const findSubjectMapping = ({
  idp_id,
  federated_subject,
}: Pick<SubjectMapping, 'idp_id' | 'federated_subject'>) =>
  MAPPINGS.find`WHERE idp_id = ${idp_id} AND federated_subject = ${federated_subject}`

export interface MappingFilter extends ListPage {
  idp_id?: string
  /** Only mappings with this text in one of their subjects. */
  q?: string
}
const LIST: ListSpec = { table: 'subject_mappings', columns: MAPPINGS.columns, at: 'created_at', id: 'id' }

/** The mappings of one identity provider or of all, ordered by age. */
export function* listSubjectMappings({ idp_id, q, ...page }: MappingFilter): Op<SubjectMapping[]> {
  const text = q === undefined ? undefined : containing(q, 'federated_subject', 'local_subject')
  return (yield* listPage(LIST, page, is('idp_id', idp_id), text)).map(MAPPINGS.read)
}

/** The mapping with this id. */
export const findSubjectMappingById = ({ id }: { id: string }) => MAPPINGS.find`WHERE id = ${id}`

/** Adds a mapping. `exists` when the subject is mapped already. Undefined when the identity provider does not exist. */
export function* createSubjectMapping(m: SubjectMapping): Op<'created' | 'exists' | undefined> {
  if (!(yield* lockIdp(m.idp_id))) return undefined
  return yield* MAPPINGS.create(m)
}

/** Deletes a mapping. Returns the deleted mapping. */
export const deleteSubjectMapping = ({ id }: { id: string }) => MAPPINGS.remove`id = ${id}`
