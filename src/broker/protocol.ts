// What a protocol is: how users connect to a provider, and how a token for them is had there.

import type { App } from '../context.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import type { UpstreamToken } from '../records/upstream_token.ts'
import type { User } from '../records/user.ts'
import type { Credential } from './credential.ts'

export interface Protocol {
  readonly name: BrokerProvider['protocol']
  /** How users connect: at the provider, by a key that they type in, or not by themselves. */
  readonly connects: 'redirect' | 'key' | 'operator'
  /** Whether the provider says what it granted, so that it can be too little. */
  readonly scoped: boolean
  /** A token for these scopes that needs no question. */
  held(credential: Credential, wanted: readonly string[], now: number): UpstreamToken | undefined
  /** Asks for a fresh one. Undefined when there is nothing to ask with. Throws UpstreamRefusal, or 503. */
  renew?(
    app: App,
    provider: BrokerProvider,
    credential: Credential,
    wanted: readonly string[],
  ): Promise<Renewal | undefined>
  /** Tells the provider that a credential is not needed any more, where it can be told. Throws 503. */
  end?(app: App, provider: BrokerProvider, credential: Credential): Promise<void>
  /** The credential of a user who needs no connection of their own. */
  initial?(provider: BrokerProvider, user: User): Credential | undefined
}

export interface Renewal {
  /** What is to be kept, whatever else: the one before may be worth nothing now. */
  credential: Credential
  /** None when the provider granted less than what was wanted. */
  token?: UpstreamToken
}
