// The interface of a provider protocol: how users connect to a provider, and how tokens are obtained from it.

import type { App } from '../context.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { UpstreamToken } from '../records/upstream_token.ts'
import type { Credential } from './credential.ts'

export interface Protocol {
  readonly name: BrokerProvider['protocol']
  /** How users connect: by a redirect to the provider, by an API key that they enter, or only through an operator. */
  readonly connects: 'redirect' | 'key' | 'operator'
  /** Whether the provider reports the granted scopes, which can be fewer than requested. */
  readonly scoped: boolean
  /** A stored token with these scopes, obtained without a request to the provider. */
  storedToken(credential: Credential, wanted: readonly string[], now: number): UpstreamToken | undefined
  /** Requests a new token. Undefined when the credential does not allow a request. Throws UpstreamRefusal, or 503. */
  renew?(
    app: App,
    provider: BrokerProvider,
    credential: Credential,
    wanted: readonly string[],
  ): Promise<Renewal | undefined>
  /** Revokes a credential at the provider. Throws 503. */
  revoke?(app: App, provider: BrokerProvider, credential: Credential): Promise<void>
  /** The credential of every user, if none has to connect. */
  initialCredential?(provider: BrokerProvider): Credential | undefined
}

/** The result of a request for a new token. */
export interface Renewal {
  /** Must be stored in any case: the previous credential may no longer be valid. */
  credential: Credential
  /** Absent when the provider granted fewer scopes than requested. */
  token?: UpstreamToken
}
