// Runs an admin operation: on the running server, so that its caches stay correct, or else in this process on the same
// database and keys.
import type { Action } from '../admin/action.ts'
import { actionNamed } from '../admin/index.ts'
import { ADMIN } from '../admin/people.ts'
import { perform, type RawInput } from '../admin/perform.ts'
import type { Env } from '../config/env.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { CODES, type ErrorCode, OAuthError } from '../lib/error.ts'
import { describeStorage, hasDatabase } from '../store/open.ts'
import { openLogger } from '../telemetry/logger.ts'
import { originOf } from './origin.ts'

const TIMEOUT_MS = 30_000
/** Errors that prove that no request was sent. After any other error the operation may have been done. */
const UNREACHABLE = ['ECONNREFUSED', 'EADDRNOTAVAIL', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']

/** Runs admin operations until it is closed. */
export interface AdminClient {
  /** Returns the answer of the operation; for JSON lines, an AsyncIterable of its rows. Throws OAuthError when it is refused. */
  send(action: Action, input: RawInput): Promise<unknown>
  close(): Promise<void>
}

/** Uses the running server. When none listens, it runs this and all later operations in this process. */
export function openSender(config: Config, env: Env): AdminClient {
  const { enabled, address, api_key } = config.admin
  let here: Promise<App> | undefined
  return {
    async send(action, input) {
      const response =
        !here && enabled && api_key ? await request(originOf(address), api_key, action, input) : undefined
      if (response) return action.lines && response.ok ? rowsOf(response) : readAnswer(response)
      here ??= openHere(config, env, makesFirstAdmin(action, input))
      return (await perform(await here, action, input, { actor_id: ADMIN, capability: 'admin', ip: '' })).shown
    },
    async close() {
      if (here) await closeHere(await here)
    },
  }
}

/** Opens an admin client for some work and closes it afterwards. */
export async function withSender<R>(config: Config, env: Env, work: (sender: AdminClient) => Promise<R>): Promise<R> {
  const sender = openSender(config, env)
  try {
    return await work(sender)
  } finally {
    await sender.close()
  }
}

/** The rows of an export, as they arrive. Throws when it ends early. */
async function* rowsOf(response: Response): AsyncGenerator<unknown> {
  const { origin } = new URL(response.url)
  let rest = ''
  try {
    for await (const text of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield JSON.parse(line)
    }
  } catch (error) {
    throw new Error(`the server at ${origin} ended the export early: ${(error as Error).message}`)
  }
}

/** Runs one operation. Returns its answer. Throws OAuthError when it is refused. */
export const runAction = (config: Config, env: Env, action: Action, input: RawInput): Promise<unknown> =>
  withSender(config, env, (sender) => sender.send(action, input))

/** Sends the request to the server. Returns undefined when none listens. */
async function request(origin: string, key: string, action: Action, input: RawInput): Promise<Response | undefined> {
  const path = action.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(input.params[name] ?? ''))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query)) query.set(name, String(value))
  try {
    return await fetch(`${origin}${path}${query.size > 0 ? `?${query}` : ''}`, {
      method: action.method,
      headers: { authorization: `Bearer ${key}`, ...(action.body ? { 'content-type': 'application/json' } : {}) },
      body: action.body ? JSON.stringify(input.body ?? {}) : undefined,
      // An export takes as long as its rows and its reader. fetch ends it after five minutes of silence.
      signal: action.lines ? null : AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (error) {
    const { cause = error } = error as Error
    if (UNREACHABLE.includes((cause as NodeJS.ErrnoException).code ?? '')) return undefined
    throw new Error(`the server at ${origin} did not answer: ${(cause as Error).message}`)
  }
}

async function readAnswer(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer
  const { origin } = new URL(response.url)
  if (response.status === 401)
    throw new OAuthError('unauthorized', `the server at ${origin} uses another admin.api_key`)
  const { error, error_description = '', ...body } = (answer ?? {}) as { error?: string; error_description?: string }
  if (error && Object.hasOwn(CODES, error)) throw new OAuthError(error as ErrorCode, error_description, { body })
  throw new Error(`${origin} answered ${response.status}. Is it the admin listener of the service?`)
}

/** `admin user create --role admin` may be the first command. No other command creates a database or a signing key. */
const makesFirstAdmin = (action: Action, { body }: RawInput): boolean =>
  action === actionNamed('user', 'create') && (body as { role?: unknown } | undefined)?.role === 'admin'

/** Opens the parts that the server would open. Threads start only when they are needed. */
async function openHere(config: Config, env: Env, creates: boolean): Promise<App> {
  const { openApp } = await import('../server/assemble.ts')
  const { logging } = config.observability
  const quiet = openLogger({ ...logging, outputs: { ...logging.outputs, stdout: false } })
  const isNew = creates && !(await hasDatabase(config.storage))
  const app = await openApp(config, quiet, { env, serves: false, creates })
  if (isNew) process.stderr.write(`created the database at ${describeStorage(config.storage)}\n`)
  return app
}

const closeHere = async (app: App) => (await import('../server/assemble.ts')).closeApp(app)
