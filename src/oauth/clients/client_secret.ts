// The secrets of a client: the current one, and during a rotation the earlier ones. They are part of the record of the client.
import type { App } from '../../context.ts'
import { digest, equalSecrets, newId, newSecret } from '../../lib/id.ts'
import { DAY, HOUR } from '../../lib/time.ts'
import type { Client, ClientSecret } from '../../records/client.ts'

/** Maximum number of live secrets of one client. */
export const MAX_SECRETS = 5
/** Maximum seconds for which an earlier secret may be accepted after a rotation. */
export const MAX_OVERLAP = 90 * DAY
/** A secret is compared with this hash when the client does not exist, or has none. */
const OF_NO_CLIENT: readonly ClientSecret[] = [{ id: '', hash: digest(''), created_at: 0 }]

/** A client secret: 256 random bits. */
export const newClientSecret = (): string => newSecret('cs_')

/** The record of a new secret, which is the current one. */
export const secretRecord = (value: string, now: number): ClientSecret => ({
  id: newId(),
  hash: digest(value),
  created_at: now,
})

/** Whether a secret is still accepted. It is refused at `expires_at`. */
export const isLiveSecret = ({ expires_at = Number.POSITIVE_INFINITY }: ClientSecret, now: number): boolean =>
  now < expires_at

/** The secrets of a client that are accepted. */
export const liveSecrets = ({ secrets = [] }: Client, now: number): ClientSecret[] =>
  secrets.filter((secret) => isLiveSecret(secret, now))

/**
 * The secret of a client that has this value, expired or not. Every secret is compared, in constant time, and a client that does not exist
 * costs the same comparison, so that the duration does not reveal which clients exist.
 */
export function findSecret(client: Client | undefined, value: string): ClientSecret | undefined {
  const hash = digest(value)
  const held = client?.secrets ?? []
  let found: ClientSecret | undefined
  for (const secret of held.length > 0 ? held : OF_NO_CLIENT) if (equalSecrets(hash, secret.hash)) found = secret
  return held.length > 0 ? found : undefined
}

/** The secrets after a rotation. The previous one is accepted for `overlap` seconds; earlier ones keep their times. 0 ends all of them. */
export const rotatedSecrets = (client: Client, next: ClientSecret, overlap: number, now: number): ClientSecret[] => [
  next,
  ...(overlap === 0 ? [] : liveSecrets(client, now)).map((secret) => ({
    ...secret,
    expires_at: secret.expires_at ?? Math.ceil(now + overlap),
  })),
]

/** Records that a secret is in use, at most once an hour. The response does not wait for it. The storage reports its own failures. */
export function noteSecretUse(app: App, { client_id }: Client, { id, last_used_at = 0 }: ClientSecret): void {
  const now = app.clock.now()
  if (now - last_used_at < HOUR) return
  app.store.touchSecret({ client_id, id, now }).catch((error) => {
    app.log.debug({ err: error, client_id }, 'the last use of a client secret could not be recorded')
  })
}
