import type { Client } from './client.ts'

/** A device that waits for a user (RFC 8628). Its id is also the id of the authorization request of the user who enters the code. */
export interface DeviceRequest {
  id: string
  /** SHA-256 of the device code. */
  hash: string
  /** MAC of the user code. */
  user_code_hash: string
  client_id: string
  /** The client as its metadata document described it; only when the client is not stored yet. */
  client?: Client
  scope: string
  /** What the device asked for: its scope parameter, or what was assumed without one. */
  asked_scope: string
  resource?: string
  dpop_jkt?: string
  /** Address and User-Agent of the device, which are shown to the user. */
  ip: string
  user_agent?: string
  /** Seconds that the device must wait between two polls. */
  wait: number
  decision?: 'approved' | 'denied'
  created_at: number
  expires_at: number
}
