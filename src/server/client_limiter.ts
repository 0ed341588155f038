// Opens the limiter of single clients.
import type { App } from '../context.ts'
import { OwnLimiter } from '../http/client_limiter.ts'

/** Opens the limiter of this process. Only a server counts tokens. */
export async function openClientLimiter(
  parts: Pick<App, 'store' | 'clock' | 'log'>,
  serves: boolean,
): Promise<OwnLimiter> {
  const { store, clock, log } = parts
  const onError = (error: unknown) => log.debug({ err: error }, 'the tokens of clients could not be counted yet')
  const limiter = new OwnLimiter({ store, clock, instances: store.driver.instances, onError })
  if (serves) await limiter.start()
  return limiter
}
