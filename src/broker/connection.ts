// The connection of a user to a provider: find, create, end.
import type { App } from '../context.ts'
import { newId } from '../lib/id.ts'
import { audit } from '../oauth/audit.ts'
import type { DetailOf } from '../oauth/audit_events.ts'
import type { BrokerGrant } from '../records/broker_grant.ts'
import type { BrokerProvider } from '../records/broker_provider.ts'
import {
  type Credential,
  openConnection,
  openCredential,
  sealCredential,
  type UpstreamConnection,
} from './credential.ts'
import { protocolOf } from './protocols.ts'

/** The active connection with its credential. Creates it when the protocol needs no action of the user. */
export async function findConnection(
  app: App,
  user_id: string,
  provider: BrokerProvider,
): Promise<UpstreamConnection | undefined> {
  const owner = { user_id, broker_provider_id: provider.id }
  const grant = await app.store.findBrokerGrant(owner)
  if (grant) return openConnection(app, grant)
  const { initialCredential } = protocolOf(provider)
  const user = initialCredential && (await app.store.findUser({ id: user_id }))
  const credential = user && initialCredential(provider, user)
  if (!credential) return undefined
  const made = await connect(app, provider, { user_id, credential, granted: [] })
  if (made) await audit(app, { action: 'broker_grant_created', actor_id: 'system', ip: '', detail: made.detail })
  const created = await app.store.findBrokerGrant(owner)
  return created && { grant: created, credential }
}

export interface NewConnection {
  user_id: string
  credential: Credential
  /** Upstream scopes. */
  granted: readonly string[]
}

/** A connection that was created or ended, with the detail for the audit trail. */
export interface ConnectionChange {
  id: string
  detail: DetailOf<'broker_grant_created' | 'broker_grant_revoked'>
}

/** Connects a user, or replaces the connection. Undefined when the provider was deleted in the meantime. */
export async function connect(
  app: App,
  provider: BrokerProvider,
  { user_id, credential, granted }: NewConnection,
): Promise<ConnectionChange | undefined> {
  const now = app.clock.now()
  const owner = { user_id, broker_provider_id: provider.id }
  const made = await app.store.connectBrokerGrant({
    ...owner,
    id: newId(),
    credential: await sealCredential(app, owner, credential),
    scopes_granted: granted.join(' '),
    version: 1,
    created_at: now,
    updated_at: now,
  })
  if (!made) return undefined
  app.metrics.count('core_connection_connect_total', { provider: provider.slug })
  const detail = { grant_id: made.id, user_id, provider: provider.slug, scopes: [...granted], version: made.version }
  return { id: made.id, detail }
}

/**
 * Ends a connection and revokes its credential at the provider when the protocol supports that. A failure of that revocation is
 * logged; the connection has ended anyway. Returns undefined when there is no such connection, and a change without detail when the connection was ended before.
 */
export async function disconnect(app: App, id: string): Promise<Partial<ConnectionChange> | undefined> {
  const grant = await app.store.revokeBrokerGrant({ id, now: app.clock.now() })
  if (!grant) return undefined
  if (grant.revoked_at !== undefined) return {}
  const { user_id, broker_provider_id } = grant
  const provider = await app.store.findProvider({ name: broker_provider_id })
  const slug = provider?.slug ?? ''
  app.metrics.count('core_connection_disconnect_total', { provider: slug })
  if (provider) await revokeUpstream(app, provider, grant)
  return { id, detail: { grant_id: id, user_id, provider: slug } }
}

async function revokeUpstream(app: App, provider: BrokerProvider, grant: BrokerGrant): Promise<void> {
  const { revoke } = protocolOf(provider)
  if (!revoke) return
  try {
    const credential = await openCredential(app, grant)
    if (credential) await revoke(app, provider, credential)
  } catch (error) {
    app.log.warn(
      { err: error, provider: provider.slug },
      'the credential of an ended connection could not be revoked at the provider',
    )
  }
}
