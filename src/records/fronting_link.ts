/** The permission of a gateway resource to obtain tokens for the resource behind it. */
export interface FrontingLink {
  source_slug: string
  target_slug: string
  /** The scopes of the target by scope of the source. */
  scope_map: Record<string, string[]>
  /** The actor, as in the audit trail. */
  created_by: string
  created_at: number
  updated_at: number
}
