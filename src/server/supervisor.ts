// What the main thread does for its front threads: everything of which a process may have only one.
import type { Env } from '../config/env.ts'
import type { App } from '../context.ts'
import type { SharedKey } from '../crypto/shared_keys.ts'
import type { LoginResult } from '../http/rate_limit.ts'
import { unavailable } from '../lib/error.ts'
import type { Serialised } from '../lib/secret.ts'
import { lookUpName } from '../lib/system_names.ts'
import type { OpName } from '../store/operations.ts'
import type { LogEvent } from '../telemetry/logger.ts'

/** What a front thread is given when it starts. */
export interface FrontData {
  config: Serialised
  env: Env
  sealing: string
  refreshSecret: string
  /** Of the limit on requests. */
  bucket: SharedArrayBuffer | undefined
  keyStore: string
  keys: SharedKey[]
}

/** What the main thread is asked for: everything there may be only one of. */
export type SupervisorHandlers = ReturnType<typeof supervisorHandlers>

interface Heard {
  opened(engine: string): void
  failed(error: { message: string; stack: string }): void
  wrote(what: { op: OpName; input: unknown }): Promise<unknown>
  unsettled(isUnsettled: boolean): Promise<unknown>
}

/** Answers what the front threads ask of the main thread. */
export function supervisorHandlers(app: App, { opened, failed, wrote, unsettled }: Heard) {
  const { store, crypto, replays, lockout, keyring, log } = app
  return {
    opened,
    failed,
    wrote,
    unsettled,
    call: ({ op, input }: { op: OpName; input: unknown }): unknown => store.driver.call(op, input),
    use: ({ value, expires_at, now }: { value: string; expires_at: number; now: number }) =>
      replays.add(value, expires_at, now),
    giveBack: (value: string) => replays.remove(value),
    hashPassword: (password: string) => crypto.hashPassword(password),
    verifyPassword: ({ password, hash }: { password: string; hash?: string }) => crypto.verifyPassword(password, hash),
    /** Whether a key is there; every thread has it then. */
    seek: async (kid: string) => (await keyring.seek(kid)) !== undefined,
    async sign({ kid, input }: { kid: string; input: string }): Promise<string> {
      const key = keyring.keys().find((each) => each.kid === kid)?.key
      if (!key || !('sign' in key)) throw unavailable('the signing key is gone', { reason: 'signing_key_gone' })
      return key.sign(input)
    },
    beginLogin: (address: string) => lockout.begin(address),
    endLogin: ({ address, result }: { address: string; result: LoginResult }) => lockout.end(address, result),
    scrape: (_: undefined) => app.scrape(),
    lookUpName,
    log({ level, msg, fields }: LogEvent): void {
      const { err, ...rest } = fields
      log[level as 'info']({ ...rest, ...(err ? { err: described(err) } : {}) }, msg)
    },
  }
}

/** An error of another thread, as its log line had it. */
function described(err: unknown): unknown {
  if (typeof err !== 'object' || err === null) return err
  const { cause, ...rest } = err as { message?: string; cause?: unknown }
  return Object.assign(new Error(rest.message), rest, cause ? { cause: described(cause) } : {})
}
