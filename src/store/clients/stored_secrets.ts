// The secrets of a client in its row.
import type { Client, ClientSecret } from '../../records/client.ts'
import { idBytes, maybeDecoded, maybeEncoded, type Row } from '../op.ts'

interface StoredSecret extends Omit<ClientSecret, 'last_used_at'> {
  /** In hex: neither database makes base64url, and the migration wrote the first ones. */
  hash: string
}
/** When each secret was last used, by its id. */
export type SecretUses = Record<string, number>

/** The secrets of a row of clients. */
export function readSecrets({ secrets, secret_uses }: Row): ClientSecret[] | undefined {
  const uses = maybeDecoded<SecretUses>(secret_uses) ?? {}
  return maybeDecoded<StoredSecret[]>(secrets)?.map(({ id, hash, created_at, expires_at }) => ({
    id,
    hash: Buffer.from(hash, 'hex').toString('base64url'),
    created_at,
    expires_at,
    last_used_at: uses[id],
  }))
}

/** The text that stores secrets. */
export const secretsText = (secrets: Client['secrets']): string | null =>
  maybeEncoded(
    secrets?.map(
      ({ id, hash, created_at, expires_at }): StoredSecret => ({
        id,
        hash: idBytes(hash).toString('hex'),
        created_at,
        expires_at,
      }),
    ),
  )

/** The text that stores when secrets were last used. */
export const usesText = (secrets: readonly Pick<ClientSecret, 'id' | 'last_used_at'>[]): string =>
  JSON.stringify(
    Object.fromEntries(
      secrets.flatMap(({ id, last_used_at }) => (last_used_at === undefined ? [] : [[id, last_used_at]])),
    ),
  )
