// The names of the rules of grants.

/** The name of a rule, as explain shows it. */
export type RuleName =
  | 'grant_enabled'
  | 'client_active'
  | 'client_confidential'
  | 'grant_registered'
  | 'user_active'
  | 'resource_known'
  | 'fronting_link'
  | 'exchange_list'
  | 'scope'
  | 'policy'
  | 'access'
  | 'scope_groups'
  | 'authorization_details'
  | 'consent'
  | 'actor_chain'
  | 'connection'
  | 'openid'
