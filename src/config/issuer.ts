// The issuer as clients see it: server.issuer, with a slash where server.issuer_trailing_slash asks for it. URLs are built on server.issuer.
import type { Config } from './schema.ts'

/** The issuer identifier: `iss` of tokens and responses, `issuer` of the metadata. Clients compare it letter by letter. */
export const issuerOf = ({ server }: Pick<Config, 'server'>): string =>
  server.issuer_trailing_slash ? `${server.issuer}/` : server.issuer

/** Whether an issuer is that of this server, with the slash or without it: nobody else may have either of the two. */
export const isOwnIssuer = ({ server }: Pick<Config, 'server'>, issuer: string): boolean =>
  issuer === server.issuer || issuer === `${server.issuer}/`
