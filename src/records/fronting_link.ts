/** What an operator lets a resource in front of another one, a gateway, obtain there. */
export interface FrontingLink {
  source_slug: string
  target_slug: string
  /** For a scope of the source, the scopes of the target that it may become. */
  scope_map: Record<string, string[]>
  /** As in the audit trail. */
  created_by: string
  created_at: number
  updated_at: number
}
