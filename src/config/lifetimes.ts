// Lifetimes that follow from several keys.
import type { Config } from './schema.ts'

/** Seconds that any access token lives at most: how long a retired key stays published, how far back live tokens are looked for. */
export const longestLife = (config: Config): number =>
  Math.max(
    config.dcr.default_token_expiry,
    config.client_credentials.token_expiry,
    config.token_exchange.token_expiry,
    config.xaa.token_expiry,
  )
