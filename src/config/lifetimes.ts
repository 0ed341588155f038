// Lifetimes that follow from several keys.
import type { Config } from './schema.ts'

/** The longest lifetime of an access token in seconds. A retired key stays published for this time, and older tokens are not searched for live ones. */
export const longestLife = (config: Config): number =>
  Math.max(
    config.dcr.default_token_expiry,
    config.client_credentials.token_expiry,
    config.token_exchange.token_expiry,
    config.xaa.token_expiry,
  )
