// The public listener while the start waits for PostgreSQL: it answers probes, so that an orchestrator does not end the process, and
// refuses everything else.
import type { Config } from '../config/schema.ts'
import { json, type Reply } from '../http/message.ts'
import { openNode } from '../http/node.ts'
import { rfc3339, systemClock } from '../lib/time.ts'
import type { Logger } from '../telemetry/logger.ts'

const REASON = 'the start waits for PostgreSQL'
const CLOSE_MS = 1000

/** Opens it. Returns the function that closes it, before the listeners of the service open. */
export async function answerProbes({ server }: Config, log: Logger): Promise<() => Promise<void>> {
  const listener = await openNode({
    address: server.address,
    accept: ({ path }) => ({ ...answerTo(path), close: true }),
    readTimeoutMs: server.read_timeout * 1000,
    writeTimeoutMs: server.write_timeout * 1000,
    idleTimeoutMs: server.idle_timeout * 1000,
    log,
  })
  return () => listener.close(CLOSE_MS)
}

function answerTo(path: string): Reply {
  const time = rfc3339(systemClock.now())
  if (path === '/livez') return json(200, { status: 'ok', time }, { 'cache-control': 'no-store' })
  const headers = { 'cache-control': 'no-store', 'retry-after': '1' }
  if (path === '/ready') return json(503, { status: 'not_ready', time, db: 'error', reason: REASON }, headers)
  if (path === '/health') return json(503, { status: 'degraded', time, db: 'error', reason: REASON }, headers)
  return json(503, { error: 'temporarily_unavailable', error_description: REASON }, headers)
}
