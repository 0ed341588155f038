// The list of grants. The token endpoint, the metadata and the registration of clients use it.

import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import type { Client } from '../records/client.ts'
import { authorizationCode } from './authorization_code.ts'
import { ciba } from './ciba.ts'
import { clientCredentials } from './client_credentials.ts'
import { deviceCode } from './device_code.ts'
import type { Grant } from './grant.ts'
import { jwtBearer } from './jwt_bearer.ts'
import { refreshToken } from './refresh_token.ts'
import { tokenExchange } from './token_exchange.ts'

/** The grants, in the order of the metadata. */
export const grants: readonly Grant[] = [
  authorizationCode,
  refreshToken,
  clientCredentials,
  tokenExchange,
  jwtBearer,
  deviceCode,
  ciba,
]

/** Refuses a disabled grant. Throws unsupported_grant_type. */
export function checkEnabled({ config }: App, grant: Grant): void {
  if (!grant.enabled(config))
    throw new OAuthError('unsupported_grant_type', `the grant is disabled: ${grant.switch} is false`, {
      reason: 'grant_disabled',
    })
}

/** Refuses a grant for which the client is not registered. Throws unauthorized_client. */
export function checkRegistered({ grant_types }: Client, { type, name }: Grant): void {
  if (!grant_types.includes(type))
    throw new OAuthError('unauthorized_client', `the client is not registered for ${name}`, {
      reason: 'grant_not_registered',
    })
}

/** The grant types that the configuration enables. */
export const offeredGrantTypes = (config: Config): string[] =>
  grants.filter((grant) => grant.enabled(config)).map((grant) => grant.type)
