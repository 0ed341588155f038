/** Maximum number of receivers, webhooks and streams together. Each has at most one request in flight. */
export const MAX_RECEIVERS = 200
/** Maximum number of streams. Clients create their own, and must leave places for the webhooks of operators. */
export const MAX_ALL_STREAMS = 150
/** Maximum number of streams of one client. It is enough for one stream per process. */
export const MAX_STREAMS = 10

/** The name of the lease of the instance that sends events. */
export const SENDER = 'events'

/** The place of an event in the order in which events became visible. */
export interface FeedPlace {
  feed_order: number
  event_id: string
}

/** The place of an issued token in the order of ids. */
export interface IssuedPlace {
  issued_id: string
}

/** A secret that signs deliveries. */
export interface SigningSecret {
  secret: string
  /** Until this time an earlier secret signs in addition to the current one. */
  until?: number
}

/** A receiver of events: a webhook of an operator, or a stream of a resource server. */
export interface EventReceiver {
  id: string
  kind: 'webhook' | 'stream'
  /** Where events are sent. Absent for a stream that is polled. */
  url?: string
  /** Audit actions with `*`, or the event types of a stream. */
  events: string[]
  status: 'enabled' | 'paused' | 'disabled'
  /** The secrets as JSON text, encrypted with data_encryption. */
  secret?: string
  /** The same without data_encryption. */
  secret_clear?: string
  /** The resource server of a stream. */
  client_id?: string
  settings: ReceiverSettings
  version: number
  created_at: number
  updated_at: number
}

/** Optional members of a receiver. */
export interface ReceiverSettings {
  description?: string
  /** Why an operator or a receiver changed the status. */
  status_reason?: string
  /** `client` if the resource server created the stream itself. */
  source?: 'client'
  /** The time from which on a webhook receives events of issued tokens. */
  issued_since?: number
}

/** One attempt to send an event. */
export interface DeliveryAttempt {
  event_id: string
  type: string
  at: number
  /** Status of the response; absent without a response. */
  status?: number
  /** Why it failed. */
  error?: string
}

/** An attempt with the beginning of the response, which is not stored. */
export interface MadeAttempt extends DeliveryAttempt {
  response?: string
}

/** The position of a receiver in the feed. */
export interface EventCursor extends FeedPlace, Partial<IssuedPlace> {
  receiver_id: string
  /** For a polled stream: the acknowledged security events after the place. */
  acknowledged: string[]
  /** Number of failed attempts to send the next event. */
  attempts: number
  /** The earliest time of the next attempt. */
  retry_at: number
  failing_since?: number
  last_error?: string
  delivered_at?: number
  /** The last attempts, latest first. */
  recent: DeliveryAttempt[]
}
