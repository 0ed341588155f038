// Security event tokens (RFC 8417), signed by the current signing key. They have no exp and no sub, so that they cannot be
// mistaken for an access token or an ID token.
import { issuerOf } from '../config/issuer.ts'
import type { App } from '../context.ts'
import { headerSegment } from '../crypto/jws.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { EventReceiver } from '../records/event_receiver.ts'
import type { SecurityEvent } from './concerned.ts'
import { isAboutStream } from './security_events.ts'

/** The jti of a security event that follows from an audit event. */
export const jtiOf = ({ id }: AuditEvent, { suffix }: SecurityEvent): string => `${id}.${suffix}`

/** A signed token for the receiver of a stream. */
export async function signSecurityEvent(
  app: App,
  stream: EventReceiver,
  event: AuditEvent,
  security: SecurityEvent,
): Promise<string> {
  const key = app.keyring.current()
  const claims = {
    iss: issuerOf(app.config),
    jti: jtiOf(event, security),
    iat: event.created_at,
    aud: stream.client_id,
    txn: event.id,
    sub_id: security.sub_id,
    events: {
      [security.type]: isAboutStream(security.type)
        ? security.payload
        : { event_timestamp: event.created_at, ...security.payload },
    },
  }
  return app.crypto.sign({ ...key, header: headerSegment('secevent+jwt', key.alg, key.kid) }, claims)
}
