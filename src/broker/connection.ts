// The connection of a user to a provider: find, create, end.
import type { App } from '../context.ts'
import { newId } from '../lib/id.ts'
import { type AuditActor, newAuditEvent, SYSTEM } from '../oauth/audit.ts'
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
  const credential = protocolOf(provider).initialCredential?.(provider)
  if (!credential || !(await app.store.findUser({ id: user_id }))) return undefined
  await connect(app, provider, { user_id, credential, granted: [] }, SYSTEM)
  const created = await app.store.findBrokerGrant(owner)
  return created && { grant: created, credential }
}

export interface NewConnection {
  user_id: string
  credential: Credential
  /** Upstream scopes. */
  granted: readonly string[]
}

/** Connects a user, or replaces the connection. `more` is further detail for the audit trail. Undefined when the provider was deleted in the meantime. */
export async function connect(
  app: App,
  provider: BrokerProvider,
  { user_id, credential, granted }: NewConnection,
  by: AuditActor,
  more: { impersonate_sub?: string } = {},
): Promise<{ id: string } | undefined> {
  const now = app.clock.now()
  const owner = { user_id, broker_provider_id: provider.id }
  const detail = { user_id, provider: provider.slug, scopes: [...granted], ...more }
  const grant: BrokerGrant = {
    ...owner,
    id: newId(),
    credential: await sealCredential(app, owner, credential),
    scopes_granted: granted.join(' '),
    version: 1,
    created_at: now,
    updated_at: now,
  }
  const event = newAuditEvent(app, { ...by, action: 'broker_grant_created', detail })
  const made = await app.store.recorded('connectBrokerGrant', grant, event)
  if (made) app.metrics.count('core_connection_connect_total', { provider: provider.slug })
  return made
}

/**
 * Ends a connection and revokes its credential at the provider when the protocol supports that. A failure of that revocation is
 * logged; the connection has ended anyway. Returns false when there is no such connection.
 */
export async function disconnect(
  app: App,
  id: string,
  by: AuditActor,
  more: { reason?: string } = {},
): Promise<boolean> {
  const event = newAuditEvent(app, { ...by, action: 'broker_grant_revoked', detail: more })
  const grant = await app.store.recorded('revokeBrokerGrant', { id, now: app.clock.now() }, event)
  if (!grant) return false
  if (grant.revoked_at !== undefined) return true
  app.metrics.count('core_connection_disconnect_total', { provider: grant.provider })
  const provider = await app.store.findProvider({ name: grant.broker_provider_id })
  if (provider) await revokeUpstream(app, provider, grant)
  return true
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
