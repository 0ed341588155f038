// Reloads the signing keys when another instance has, or may have, changed them.
import type { App } from '../context.ts'
import { coalesce } from '../lib/threads/coalesce.ts'

const RELOAD_RETRY_MS = 500
/** A transit engine has a circuit breaker and a periodic reload of its own, so retries can be slower. */
const REMOTE_RETRY_MS = 5000

/** Reloads the keys from now on whenever another instance has, or may have, changed them. */
export function followKeys({ keyring, store, log, lifecycle }: App): void {
  const reload = coalesce(async () => lifecycle.draining || (await keyring.reload()), {
    retryMs: keyring.remote ? REMOTE_RETRY_MS : RELOAD_RETRY_MS,
    onError: (error) =>
      log.error({ err: error }, 'the signing keys could not be reloaded; the previous keys stay in use'),
  })
  store.driver.onForeignWrite((about) => (about === undefined || about === 'keys') && reload())
}
