// The credential of a connection: encrypted as one text, bound to its row, together with the tokens that have not expired.

import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import type { BrokerGrant } from '../records/broker_grant.ts'
import type { UpstreamToken } from '../records/upstream_token.ts'
import { brokerGrantRow } from '../store/sealed.ts'

export interface Credential {
  refresh_token?: string
  api_key?: string
  /** The user that a service account impersonates. */
  impersonate_sub?: string
  tokens: UpstreamToken[]
}

/** A connection with its credential. */
export interface UpstreamConnection {
  grant: BrokerGrant
  credential: Credential
}

type Owner = Pick<BrokerGrant, 'user_id' | 'broker_provider_id'>

const rowOf = ({ user_id, broker_provider_id }: Owner): string => brokerGrantRow(user_id, broker_provider_id)

/** The encryption for credentials. Throws 503 with the name of the setting that is missing. */
export function requireEncryption({ atRest, config }: App) {
  if (atRest) return atRest
  throw new OAuthError(
    'temporarily_unavailable',
    'upstream connections are disabled: data_encryption.driver is not set',
    {
      reason: 'encryption_off',
      cause: new Error(`data_encryption.driver is ${JSON.stringify(config.data_encryption.driver)}`),
    },
  )
}

/** Encrypts a credential. */
export const sealCredential = (app: App, owner: Owner, credential: Credential): Promise<string> =>
  requireEncryption(app).seal('broker_grant', rowOf(owner), JSON.stringify(credential))

/** Decrypts the credential of a row; undefined when the row has none. Throws when it was encrypted for another row, or with a missing key. */
export async function openCredential(app: App, grant: BrokerGrant): Promise<Credential | undefined> {
  const atRest = requireEncryption(app)
  if (grant.credential === undefined) return undefined
  return JSON.parse(await atRest.open('broker_grant', rowOf(grant), grant.credential)) as Credential
}

/** The connection of a row; undefined without a row, or when the row has no credential. Throws the errors of openCredential(). */
export async function openConnection(
  app: App,
  grant: BrokerGrant | undefined,
): Promise<UpstreamConnection | undefined> {
  const credential = grant && (await openCredential(app, grant))
  return credential && { grant, credential }
}

const MAX_TOKENS = 8

/** Adds a token to a credential. Removes expired tokens, and the token that had the same scopes. */
export function withToken(credential: Credential, token: UpstreamToken, now: number): Credential {
  const others = credential.tokens.filter((each) => isUsable(each, now) && !hasScopes(each, token.scope))
  return { ...credential, tokens: [...others, token].slice(-MAX_TOKENS) }
}

/** Whether a token may still be handed out. */
export const isUsable = ({ usable_until = 0 }: UpstreamToken, now: number): boolean => now < usable_until
/** Whether a token has exactly these scopes. */
export const hasScopes = ({ scope }: UpstreamToken, wanted: readonly string[]): boolean =>
  scope.length === wanted.length && wanted.every((name) => scope.includes(name))
