/** What the holder of a key, or a person, may do in the admin API. Each capability includes the ones before it. */
export const CAPABILITIES = ['viewer', 'operator', 'admin'] as const
export type Capability = (typeof CAPABILITIES)[number]
/** What the holder of a key may do: a capability of the admin API, or to manage the people of a provider over SCIM. */
export const KEY_CAPABILITIES = [...CAPABILITIES, 'scim'] as const
export type KeyCapability = (typeof KEY_CAPABILITIES)[number]

/** Whether a capability includes another one. */
export const includesCapability = (held: Capability, needed: Capability): boolean =>
  CAPABILITIES.indexOf(held) >= CAPABILITIES.indexOf(needed)

/** A key of the admin API that an operator created. */
export interface ApiKey {
  id: string
  /** Unique. The audit trail names it. */
  name: string
  capability: KeyCapability
  /** Slug of the provider whose people a key with the capability scim manages. */
  provider?: string
  /** SHA-256 of the key. */
  hash: string
  created_at: number
  /** Written in the background, at most once in some seconds. */
  last_used_at?: number
}
