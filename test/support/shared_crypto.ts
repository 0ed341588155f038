// The signing and password threads of every test service in this process: starting them takes half of the time of a service.
import { type CryptoLanes, type CryptoOptions, openCrypto } from '../../src/crypto/pool.ts'
import type { Logger } from '../../src/telemetry/logger.ts'

const shared = new Map<number, CryptoLanes>()

/** Opens threads that stay until this process ends. The first service with a number of threads logs their errors. */
export function openSharedCrypto({ threads }: CryptoOptions, log: Logger): CryptoLanes {
  const lanes = shared.get(threads) ?? openCrypto({ threads }, log)
  shared.set(threads, lanes)
  return { ...lanes, close: async () => {} }
}
