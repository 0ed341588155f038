// The issuer as clients see it: server.issuer, with a trailing slash when server.issuer_trailing_slash is set. URLs are built on server.issuer.
import type { Config } from './schema.ts'

/** The issuer identifier: `iss` of tokens and responses, `issuer` of the metadata. Clients compare it character by character. */
export const issuerOf = ({ server }: Pick<Config, 'server'>): string =>
  server.issuer_trailing_slash ? `${server.issuer}/` : server.issuer

/** Whether an issuer is that of this server, with or without the slash. No other issuer may use either form. */
export const isOwnIssuer = ({ server }: Pick<Config, 'server'>, issuer: string): boolean =>
  issuer === server.issuer || issuer === `${server.issuer}/`
