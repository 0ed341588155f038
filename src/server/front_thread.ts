// A front thread: serves the public listener as a whole process would, and asks the supervisor, over RPC, for everything that a
// process has only once (docs/decisions/0014).
import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { openAtRest } from '../crypto/at_rest.ts'
import { type Keyring, openKeyring } from '../crypto/keyring.ts'
import { type CryptoLanes, openCrypto, signingThreads } from '../crypto/pool.ts'
import { sharedSource } from '../crypto/shared_keys.ts'
import { transitParts } from '../crypto/transit/client.ts'
import { openBranding, readPageFiles } from '../endpoints/pages/branding.ts'
import { AddressShare } from '../http/address_share.ts'
import type { ClientLimiter } from '../http/client_limiter.ts'
import { LimitShare } from '../http/limit_share.ts'
import { type LoginAttempts, SharedBucket } from '../http/rate_limit.ts'
import { readBuild } from '../lib/build.ts'
import type { ReplayCache } from '../lib/replay_set.ts'
import { deserialise } from '../lib/secret.ts'
import { lookUpNamesBy } from '../lib/system_names.ts'
import { RpcChannel } from '../lib/threads/rpc.ts'
import { systemClock } from '../lib/time.ts'
import { openFrontStore } from '../store/open.ts'
import { ActivityLog } from '../telemetry/client_activity.ts'
import { stagesIn } from '../telemetry/metrics.ts'
import { openThreadTelemetry, type Telemetry } from '../telemetry/open.ts'
import { assemble, closeApp, type Parts } from './assemble.ts'
import { frontHandlers } from './front_handlers.ts'
import { openPublicListener } from './listeners.ts'
import { requestRate, shareWhileEnabled, whileEnabled } from './request_limit.ts'
import type { FrontData, SupervisorHandlers } from './supervisor_handlers.ts'

type Supervisor = RpcChannel<SupervisorHandlers>
/** The arguments of frontHandlers() that are known before the listener is open. */
type Setters = Pick<Parameters<typeof frontHandlers>[1], 'setHealthy' | 'setKeys'>

/** Serves until the supervisor calls `close`. Rejects when it cannot serve. */
export async function runFront(port: MessagePort, data: FrontData): Promise<void> {
  const supervisor: Supervisor = new RpcChannel(port, { asText: true })
  const config = deserialise(data.config) as Config
  const telemetry = await openThreadTelemetry(config, readBuild(), data.env, (event) => supervisor.tell('log', event))
  const { app, ...setters } = await openThreadApp(config, data, telemetry, supervisor)
  const rate = requestRate(config)
  const listener = await openPublicListener(app, {
    limiter: whileEnabled(config, new SharedBucket(rate, data.bucket)),
    share: shareWhileEnabled(config, new AddressShare(rate, data.shares)),
  })
  // When a thread exits while the native engine is open, the whole process dies without a message. So the supervisor drains this thread first.
  process.on('uncaughtException', ({ message, stack = '' }) => supervisor.tell('failed', { message, stack }))
  const close = async (waitMs: number): Promise<void> => {
    app.lifecycle.draining = true
    await listener.close(waitMs)
    await closeApp(app)
    await telemetry.close()
    // Sends the last report. Nothing keeps this thread running then.
    setImmediate(() => {
      supervisor.flush()
      port.close()
    })
  }
  supervisor.listen(frontHandlers(app, { ...setters, close }))
  // Not earlier: answers of the supervisor are received only after listen().
  lookUpNamesBy((hostname) => supervisor.ask('lookUpName', hostname))
  supervisor.tell('opened', listener.engine)
}

/** Opens the parts of this thread and assembles its app. */
async function openThreadApp(
  config: Config,
  data: FrontData,
  telemetry: Telemetry,
  supervisor: Supervisor,
): Promise<{ app: App } & Setters> {
  const { log, metrics } = telemetry
  const clock = systemClock
  const { store, note: setHealthy } = await openFrontStore(config, { log, metrics }, (op, input) =>
    supervisor.ask('call', { op, input }),
  )
  store.onWrite((op, input) => supervisor.ask('wrote', { op, input }))
  store.driver.unsettled?.onChange((isUnsettled) => supervisor.ask('unsettled', isUnsettled))
  const source = sharedSource({
    name: data.keyStore,
    keys: data.keys,
    sign: (input) => supervisor.ask('sign', input),
    prepare: (alg) => supervisor.ask('makeIdTokenKey', alg),
  })
  const keyring = await openKeyring({ source, clock })
  const threads = Math.max(1, Math.floor(signingThreads(config.server.crypto_threads) / config.server.front_threads))
  const crypto = openCrypto({ threads, onStage: stagesIn(metrics) }, log)
  const parts: Parts = {
    branding: openBranding(config, readPageFiles(config)),
    store,
    keyring: withSupervisorKeys(keyring, supervisor),
    crypto: withSharedPasswords(crypto, supervisor),
    lanes: { crypto: crypto.stats.crypto, ...(store.driver.name === 'sqlite' ? {} : { store: store.driver.stats }) },
    atRest: await openAtRest(config, data.env, { transit: transitParts(clock, log) }),
    sealing: data.sealing,
    refreshSecrets: data.refreshSecrets,
    replays: sharedReplays(supervisor),
    loginAttempts: sharedAttempts(supervisor),
    clientLimiter: sharedLimiter(supervisor),
    clientShare: new LimitShare(requestRate(config), data.clientShares),
    scrape: () => supervisor.ask('scrape', undefined),
    activity: new ActivityLog(true),
  }
  const app = assemble(config, log, { clock, env: data.env, telemetry }, parts)
  return { app, setHealthy, setKeys: source.take }
}

/** A keyring that asks the supervisor for a key that this thread does not have. */
const withSupervisorKeys = (keyring: Keyring, supervisor: Supervisor): Keyring => ({
  ...keyring,
  seek: async (kid) => keyring.find(kid) ?? ((await supervisor.ask('seek', kid)) ? keyring.find(kid) : undefined),
})

/** Passwords are hashed in the pool of the supervisor, whose limit is for all threads together: many concurrent logins must not take the processors that tokens need. */
const withSharedPasswords = (crypto: CryptoLanes, supervisor: Supervisor): CryptoLanes => ({
  ...crypto,
  hashPassword: (password) => supervisor.ask('hashPassword', password),
  verifyPassword: (password, hash, kinds) => supervisor.ask('verifyPassword', { password, hash, kinds }),
})

const sharedReplays = (supervisor: Supervisor): ReplayCache => ({
  add: (value, expires_at, now) => supervisor.ask('useOnce', { value, expires_at, now }),
  remove: (value) => supervisor.ask('forgetUse', value),
})

const sharedLimiter = (supervisor: Supervisor): ClientLimiter => ({
  take: (wanted) => supervisor.ask('takeOfClient', wanted),
  giveBackToken: (client_id) => supervisor.tell('giveBackToken', client_id),
  close: () => Promise.resolve(),
})

const sharedAttempts = (supervisor: Supervisor): LoginAttempts => ({
  begin: (address) => supervisor.ask('beginLogin', address),
  end: (address) => supervisor.ask('endLogin', address),
})
