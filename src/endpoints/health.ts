// The health probes. They answer from memory, so that a slow database cannot delay them.
import type { App } from '../context.ts'
import { json, type Reply } from '../http/message.ts'
import { rfc3339 } from '../lib/time.ts'

const probe = (app: App, ok: boolean, status: string, more: Record<string, string> = {}): Reply =>
  json(ok ? 200 : 503, { status, time: rfc3339(app.clock.now()), ...more }, { 'cache-control': 'no-store' })
const database = (ok: boolean) => ({ db: ok ? 'ok' : 'error' })

/** Liveness: the process answers requests. */
export const livez = (app: App): Reply => probe(app, true, 'ok')

/** Health of the process and its storage. */
export function health(app: App): Reply {
  const ok = app.store.driver.isHealthy()
  return probe(app, ok, ok ? 'ok' : 'degraded', database(ok))
}

/** Readiness: the storage is healthy and works with this version, and the process is not draining. */
export function ready(app: App): Reply {
  const { driver } = app.store
  const ok = driver.isHealthy()
  const reason = driver.unsupported?.()
  const isReady = ok && !reason && !app.lifecycle.draining
  return probe(app, isReady, isReady ? 'ready' : 'not_ready', { ...database(ok), ...(reason ? { reason } : {}) })
}
