// The RPC handlers of the supervisor: the procedures that front threads call. The main thread owns everything that a process has only once.

import type { Env } from '../config/env.ts'
import type { SessionSecrets } from '../config/session_secrets.ts'
import type { App } from '../context.ts'
import type { SharedKey } from '../crypto/shared_keys.ts'
import type { ClientTake } from '../http/client_limiter.ts'
import { unavailable } from '../lib/error.ts'
import type { Serialised } from '../lib/secret.ts'
import { lookUpName } from '../lib/system_names.ts'
import type { IdTokenAlg } from '../records/rare_members.ts'
import type { OpName } from '../store/operations.ts'
import type { LogEvent } from '../telemetry/logger.ts'

/** The data that a front thread starts with. */
export interface FrontData {
  config: Serialised
  env: Env
  sealing: SessionSecrets
  refreshSecrets: SessionSecrets
  /** The memory of the token bucket that limits requests. */
  bucket: SharedArrayBuffer
  /** The memory of the shares of addresses in that limit. */
  shares: SharedArrayBuffer
  /** The memory of the shares of clients. */
  clientShares: SharedArrayBuffer
  keyStore: string
  keys: SharedKey[]
}

/** A store operation and its input. */
export interface Write {
  op: OpName
  input: unknown
}

/** The procedures of the supervisor. */
export type SupervisorHandlers = ReturnType<typeof supervisorHandlers>

/** The notifications of a front thread about its own state. */
interface FrontNotices {
  opened(engine: string): void
  failed(error: { message: string; stack: string }): void
  wrote(write: Write): Promise<unknown>
  unsettled(isUnsettled: boolean): Promise<unknown>
}

/** Makes the handlers of the supervisor for one front thread. */
export function supervisorHandlers(app: App, notices: FrontNotices) {
  const { store, crypto, replays, loginAttempts, clientLimiter, keyring, log } = app
  return {
    ...notices,
    call: ({ op, input }: Write): unknown => store.driver.call(op, input),
    useOnce: ({ value, expires_at, now }: { value: string; expires_at: number; now: number }) =>
      replays.add(value, expires_at, now),
    forgetUse: (value: string) => replays.remove(value),
    hashPassword: (password: string) => crypto.hashPassword(password),
    verifyPassword: ({ password, hash, kinds }: { password: string; hash?: string; kinds?: readonly string[] }) =>
      crypto.verifyPassword(password, hash, kinds),
    /** Looks for a signing key. When it exists, every thread has it afterwards. */
    seek: async (kid: string) => (await keyring.seek(kid)) !== undefined,
    /** Creates a key of ID tokens. Every thread has it afterwards. */
    makeIdTokenKey: async (alg: IdTokenAlg): Promise<void> => void (await keyring.idTokenKey(alg)),
    async sign({ kid, input }: { kid: string; input: string }): Promise<string> {
      const key = keyring.keys().find((each) => each.kid === kid)?.key
      if (!key || !('sign' in key))
        throw unavailable('the signing key no longer exists', { reason: 'signing_key_gone' })
      return key.sign(input)
    },
    beginLogin: (address: string) => loginAttempts.begin(address),
    endLogin: (address: string) => loginAttempts.end(address),
    takeOfClient: (wanted: ClientTake) => clientLimiter.take(wanted),
    giveBackToken: (client_id: string) => clientLimiter.giveBackToken(client_id),
    scrape: (_: undefined) => app.scrape(),
    lookUpName,
    log({ level, msg, fields }: LogEvent): void {
      const { err, ...rest } = fields
      log[level as 'info']({ ...rest, ...(err ? { err: asError(err) } : {}) }, msg)
    },
  }
}

/** Restores an error from the log line of another thread. */
function asError(err: unknown): unknown {
  if (typeof err !== 'object' || err === null) return err
  const { cause, ...rest } = err as { message?: string; cause?: unknown }
  return Object.assign(new Error(rest.message), rest, cause ? { cause: asError(cause) } : {})
}
