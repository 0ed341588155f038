// What a connection holds of its user: the credential, sealed in one text for one row, with the tokens that are still fresh.

import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import type { BrokerGrant } from '../records/broker_grant.ts'
import type { UpstreamToken } from '../records/upstream_token.ts'
import { brokerGrantRow } from '../store/sealed.ts'

export interface Credential {
  refresh_token?: string
  api_key?: string
  /** In whose name a service account acts. */
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

/** The encryption that credentials need. Throws 503 that names what is to be set. */
export function sealing({ atRest, config }: App) {
  if (atRest) return atRest
  throw new OAuthError('temporarily_unavailable', 'upstream connections are off: data_encryption.driver is not set', {
    reason: 'encryption_off',
    cause: new Error(`data_encryption.driver is ${JSON.stringify(config.data_encryption.driver)}`),
  })
}

/** The sealed text of a credential. */
export const sealCredential = (app: App, owner: Owner, credential: Credential): Promise<string> =>
  sealing(app).seal('broker_grant', rowOf(owner), JSON.stringify(credential))

/** The credential in a row; undefined when it holds none. Throws when it was sealed for another row, or with a key that is gone. */
export async function openCredential(app: App, grant: BrokerGrant): Promise<Credential | undefined> {
  const atRest = sealing(app)
  if (grant.credential === undefined) return undefined
  return JSON.parse(await atRest.open('broker_grant', rowOf(grant), grant.credential)) as Credential
}

/** A connection from its row; undefined without one, or when it holds no credential. Throws as openCredential() does. */
export async function openConnection(
  app: App,
  grant: BrokerGrant | undefined,
): Promise<UpstreamConnection | undefined> {
  const credential = grant && (await openCredential(app, grant))
  return credential && { grant, credential }
}

const MAX_TOKENS = 8

/** A credential with one more token, and without those that nobody needs any more. */
export function withToken(credential: Credential, token: UpstreamToken, now: number): Credential {
  const others = credential.tokens.filter((each) => isUsable(each, now) && !isFor(each, token.scope))
  return { ...credential, tokens: [...others, token].slice(-MAX_TOKENS) }
}

export const isUsable = ({ usable_until = 0 }: UpstreamToken, now: number): boolean => now < usable_until
/** Whether a token is for these scopes and no others. */
export const isFor = ({ scope }: UpstreamToken, wanted: readonly string[]): boolean =>
  scope.length === wanted.length && wanted.every((name) => scope.includes(name))
