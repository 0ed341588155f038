// The probes. They answer at once from what is known, so that a slow database cannot make them hang.
import type { App } from '../context.ts'
import { json, type Reply } from '../http/message.ts'
import { rfc3339 } from '../lib/time.ts'

const probe = (app: App, ok: boolean, status: string, more: Record<string, string> = {}): Reply =>
  json(ok ? 200 : 503, { status, time: rfc3339(app.clock.now()), ...more }, { 'cache-control': 'no-store' })
const database = (ok: boolean) => ({ db: ok ? 'ok' : 'error' })

/** The process lives. */
export const livez = (app: App): Reply => probe(app, true, 'ok')

/** The process and its storage are well. */
export function health(app: App): Reply {
  const ok = app.store.driver.isHealthy()
  return probe(app, ok, ok ? 'ok' : 'degraded', database(ok))
}

/** New requests are welcome: not while it drains. */
export function ready(app: App): Reply {
  const ok = app.store.driver.isHealthy()
  const wanted = ok && !app.lifecycle.draining
  return probe(app, wanted, wanted ? 'ready' : 'not_ready', database(ok))
}
