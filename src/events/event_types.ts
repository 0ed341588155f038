// The types of security events in streams.
const CAEP = 'https://schemas.openid.net/secevent/caep/event-type'
export const SESSION_REVOKED = `${CAEP}/session-revoked`
export const CREDENTIAL_CHANGE = `${CAEP}/credential-change`
export const TOKEN_CLAIMS_CHANGE = `${CAEP}/token-claims-change`
export const TOKEN_REVOKED = 'https://schemas.openid.net/secevent/oauth/event-type/token-revoked'
const RISC = 'https://schemas.openid.net/secevent/risc/event-type'
export const ACCOUNT_DISABLED = `${RISC}/account-disabled`
export const ACCOUNT_ENABLED = `${RISC}/account-enabled`
export const ACCOUNT_PURGED = `${RISC}/account-purged`
/** Sent to a stream even if it did not request them (OpenID SSF 1.0 §8.1.4, §8.1.5). */
export const VERIFICATION = 'https://schemas.openid.net/secevent/ssf/event-type/verification'
export const STREAM_UPDATED = 'https://schemas.openid.net/secevent/ssf/event-type/stream-updated'

/** The event types that a stream may request. */
export const STREAM_EVENTS = [
  SESSION_REVOKED,
  CREDENTIAL_CHANGE,
  TOKEN_CLAIMS_CHANGE,
  TOKEN_REVOKED,
  ACCOUNT_DISABLED,
  ACCOUNT_ENABLED,
  ACCOUNT_PURGED,
] as const

/** Delivery methods: push (RFC 8935) and poll (RFC 8936). */
export const PUSH = 'urn:ietf:rfc:8935'
export const POLL = 'urn:ietf:rfc:8936'
