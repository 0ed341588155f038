/** The local user of a subject of an identity provider. */
export interface SubjectMapping {
  id: string
  idp_id: string
  mode: 'explicit'
  federated_subject: string
  local_subject: string
  created_at: number
}
