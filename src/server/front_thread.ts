// A front thread: serves the public listener like a process of its own, and asks the main thread for what there may be
// only one of (docs/decisions/0014).

import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../config/schema.ts'
import { openAtRest } from '../crypto/at_rest.ts'
import { openKeyring } from '../crypto/keyring.ts'
import { openCrypto, signingThreads } from '../crypto/pool.ts'
import { sharedSource } from '../crypto/shared_keys.ts'
import { transitParts } from '../crypto/transit_client.ts'
import { SharedBucket } from '../http/rate_limit.ts'
import { readBuild } from '../lib/build.ts'
import { RpcChannel } from '../lib/rpc.ts'
import { deserialise } from '../lib/secret.ts'
import { lookUpNamesBy } from '../lib/system_names.ts'
import { systemClock } from '../lib/time.ts'
import { openFrontStore } from '../store/open.ts'
import { ActivityLog } from '../telemetry/client_activity.ts'
import { openThreadTelemetry } from '../telemetry/open.ts'
import { assemble, closeApp } from './assemble.ts'
import { frontHandlers } from './front_handlers.ts'
import { openFront } from './listeners.ts'
import type { FrontData, SupervisorHandlers } from './supervisor.ts'

/** Serves until the main thread says that it is enough. Rejects when it cannot. */
export async function runFront(port: MessagePort, data: FrontData): Promise<void> {
  const supervisor = new RpcChannel<SupervisorHandlers>(port, { asText: true })
  const config = deserialise(data.config) as Config
  const telemetry = await openThreadTelemetry(config, readBuild(), data.env, (event) => supervisor.tell('log', event))
  const { log } = telemetry
  const clock = systemClock
  const { store, note } = await openFrontStore(config, { log, metrics: telemetry.metrics }, (op, input) =>
    supervisor.ask('call', { op, input }),
  )
  store.onWrite((op, input) => supervisor.ask('wrote', { op, input }))
  store.driver.unsettled?.onChange((isUnsettled) => supervisor.ask('unsettled', isUnsettled))
  const source = sharedSource({ name: data.keyStore, keys: data.keys, sign: (input) => supervisor.ask('sign', input) })
  const keyring = await openKeyring({ source, clock })
  const threads = Math.max(1, Math.floor(signingThreads(config.server.crypto_threads) / config.server.front_threads))
  const signing = openCrypto({ threads, eager: true }, log)
  const app = assemble(
    config,
    log,
    { clock, env: data.env, telemetry },
    {
      store,
      keyring: {
        ...keyring,
        seek: async (kid) => keyring.find(kid) ?? ((await supervisor.ask('seek', kid)) ? keyring.find(kid) : undefined),
      },
      crypto: {
        ...signing,
        // These are counted over all threads: a storm of logins must leave processors for tokens.
        hashPassword: (password) => supervisor.ask('hashPassword', password),
        verifyPassword: (password, hash) => supervisor.ask('verifyPassword', { password, hash }),
      },
      lanes: { crypto: signing.stats.crypto, ...(store.driver.name === 'sqlite' ? {} : { store: store.driver.stats }) },
      atRest: await openAtRest(config, data.env, { transit: transitParts(clock, log) }),
      sealing: data.sealing,
      refreshSecret: data.refreshSecret,
      replays: {
        add: (value, expires_at, now) => supervisor.ask('use', { value, expires_at, now }),
        remove: (value) => supervisor.ask('giveBack', value),
      },
      lockout: {
        begin: (address) => supervisor.ask('beginLogin', address),
        end: (address, result) => supervisor.ask('endLogin', { address, result }),
        locked: 0,
      },
      scrape: () => supervisor.ask('scrape', undefined),
      activity: new ActivityLog(true),
    },
  )
  const { requests_per_second, burst } = config.rate_limit
  const limiter = data.bucket && new SharedBucket(requests_per_second, burst, data.bucket)
  const front = await openFront(app, limiter)
  // A thread that ends while the native engine is open takes the process with it, without a word: this one drains first.
  process.on('uncaughtException', ({ message, stack = '' }) => supervisor.tell('failed', { message, stack }))
  supervisor.listen(
    frontHandlers(app, {
      note,
      take: source.take,
      async close(waitMs) {
        app.lifecycle.draining = true
        await front.close(waitMs)
        await closeApp(app)
        await telemetry.close()
        // The last word is the report; then nothing keeps this thread.
        setImmediate(() => {
          supervisor.flush()
          port.close()
        })
      },
    }),
  )
  // From here on: before, the answers of the supervisor are not heard yet.
  lookUpNamesBy((hostname) => supervisor.ask('lookUpName', hostname))
  supervisor.tell('opened', front.engine)
}
