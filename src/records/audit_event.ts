export interface AuditEvent {
  id: string
  action: string
  /** User id, client id, `admin`, `system`, or empty when the actor is unknown. */
  actor_id: string
  client_id?: string
  ip: string
  request_id?: string
  detail: Record<string, unknown>
  created_at: number
}
