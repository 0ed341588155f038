// Signing keys that another instance changes, or may have changed, are read again.
import type { App } from '../context.ts'
import { coalesce } from '../lib/coalesce.ts'

const RELOAD_RETRY_MS = 500
/** An engine that is away has a breaker, and is looked at from time to time anyway. */
const REMOTE_RETRY_MS = 5000

/** Takes over the keys that another instance changed, or may have changed, from now on. */
export function followKeys({ keyring, store, log, lifecycle }: App): void {
  const reload = coalesce(async () => lifecycle.draining || (await keyring.reload()), {
    retryMs: keyring.remote ? REMOTE_RETRY_MS : RELOAD_RETRY_MS,
    onError: (error) =>
      log.error({ err: error }, 'the signing keys could not be reloaded; the ones before stay in use'),
  })
  store.driver.onForeignWrite((about) => (about === undefined || about === 'keys') && reload())
}
