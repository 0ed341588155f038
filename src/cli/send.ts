// Runs an admin operation: on the running server, so that its caches stay correct, or else in this process on the same
// database and keys. On a server elsewhere, if one is named.
import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import type { Action } from '../admin/action.ts'
import { TOOL_HEADER } from '../admin/action.ts'
import type { job } from '../admin/answers/jobs.ts'
import { actionNamed } from '../admin/index.ts'
import { ADMIN } from '../admin/people/people.ts'
import { perform, type RawInput } from '../admin/perform.ts'
import type { Env } from '../config/env.ts'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { CODES, type ErrorCode, OAuthError } from '../lib/error.ts'
import type { OnProgress } from '../records/job.ts'
import { describeStorage, hasDatabase } from '../store/open.ts'
import { openLogger } from '../telemetry/logger.ts'
import { originOf } from './origin.ts'
import { CommandProgress } from './progress.ts'
import type { AdminTarget, RemoteServer } from './target.ts'

const TIMEOUT_MS = 30_000
/** Milliseconds between two looks at a job. */
const POLL_MS = 500
/** A command gives up after this long without an answer about its job. */
const AWAY_MS = 60_000
/** Errors that prove that no request was sent. After any other error the operation may have been done. */
const UNREACHABLE = ['ECONNREFUSED', 'EADDRNOTAVAIL', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']

/** Runs admin operations until it is closed. */
export interface AdminClient {
  /**
   * `tool` is the tool of an agent that calls it. `onStop` gets the last row of a search that stopped at its bound. Returns the answer of the
   * operation; for JSON lines, an AsyncIterable of its rows. Throws OAuthError when it is refused.
   */
  send(action: Action, input: RawInput, tool?: string, onStop?: (after: string) => void): Promise<unknown>
  close(): Promise<void>
}

/** Uses the server elsewhere that the target names, or else the running server. When none listens here, it runs this and all later operations in this process. */
export function openSender(target: AdminTarget): AdminClient {
  const server = target.remote ?? ownServer(target.config)
  let here: Promise<App> | undefined
  return {
    async send(action, input, tool, onStop = () => {}) {
      const response = !here && server ? await request(server, action, input, tool) : undefined
      const stopped = /[?&]after=([\w-]+).*rel="next"/.exec(response?.headers.get('link') ?? '')?.[1]
      if (stopped !== undefined) onStop(stopped)
      if (response?.status === 202 && server) return endOfJob(server, action, (await readAnswer(response)) as ShownJob)
      if (response) return action.lines && response.ok ? rowsOf(response) : readAnswer(response)
      if (target.remote) throw new Error(`no server answers at ${target.remote.base}`)
      here ??= openHere(target.config, target.env, makesFirstAdmin(action, input))
      const app = await here
      const caller = { actor_id: ADMIN, capability: 'admin', ip: '' } as const
      const { shown, next } = await withProgress(action, (onProgress) =>
        perform(app, action, input, caller, onProgress),
      )
      if (next) onStop(next.after)
      return shown
    },
    async close() {
      if (here) await closeHere(await here)
    },
  }
}

async function withProgress<R>(
  action: Action,
  work: (onProgress: OnProgress) => Promise<R>,
  firstMs?: number,
): Promise<R> {
  const progress = new CommandProgress(`${action.method} ${action.path}`, firstMs)
  try {
    return await work((rows, share) => progress.show(rows, share))
  } finally {
    progress.end()
  }
}

type ShownJob = z.output<typeof job>

/** Waits for the end of a job, and returns the answer of its operation. Throws its refusal. An interrupted command does not end the job. */
const endOfJob = (server: RemoteServer, action: Action, { id }: ShownJob): Promise<unknown> =>
  withProgress(
    action,
    async (onProgress) => {
      let seenMs = performance.now()
      for (;;) {
        await sleep(POLL_MS)
        const response = await request(server, actionNamed('job', 'show'), { params: { id }, query: {} })
        // An instance that restarts, or another one behind the same name, answers soon.
        if (!response || response.status === 503) {
          if (performance.now() - seenMs < AWAY_MS) continue
          throw new Error(
            `the server no longer answers; \`service admin job show ${id}\` shows the end of the operation`,
          )
        }
        seenMs = performance.now()
        const { status, rows, percent, answer, error, error_description } = (await readAnswer(response)) as ShownJob
        if (status === 'done') return answer ?? undefined
        if (status === 'failed') throw refusalOf(error, error_description)
        if (status === 'interrupted')
          throw new Error(`the server ended during ${action.method} ${action.path} (job ${id}): run the command again`)
        onProgress(rows, percent / 100)
      }
    },
    0,
  )

/** The admin API of the server of a configuration, as this machine reaches it. */
const ownServer = ({ admin: { enabled, address, api_key } }: Config): RemoteServer | undefined =>
  enabled && api_key ? { base: originOf(address), key: api_key } : undefined

/** The target that only ever is a running server. Throws when there is no key for it. */
export function runningServer(target: AdminTarget): { remote: RemoteServer } {
  const remote = target.remote ?? ownServer(target.config)
  if (remote) return { remote }
  throw new Error('a key is needed, and the admin listener of the server: set admin.api_key (SERVICE_ADMIN_API_KEY)')
}

/** Opens an admin client for some work and closes it afterwards. */
export async function withSender<R>(target: AdminTarget, work: (sender: AdminClient) => Promise<R>): Promise<R> {
  const sender = openSender(target)
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

/** Creates an item. Returns its answer; undefined when an item with its name exists. */
export async function makeOnce(sender: AdminClient, resource: string, body: Record<string, unknown>) {
  try {
    const made = await sender.send(actionNamed(resource, 'create'), { params: {}, query: {}, body })
    return made as Record<string, unknown>
  } catch (error) {
    if (error instanceof OAuthError && error.status === 409) return undefined
    throw error
  }
}

/** Runs one operation. Returns its answer. Throws OAuthError when it is refused. */
export const runAction = (target: AdminTarget, action: Action, input: RawInput): Promise<unknown> =>
  withSender(target, (sender) => sender.send(action, input))

/** Sends the request to the server. Returns undefined when none listens. */
async function request(
  server: RemoteServer,
  action: Action,
  input: RawInput,
  tool?: string,
): Promise<Response | undefined> {
  const { base, key } = server
  const path = action.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(input.params[name] ?? ''))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query)) query.set(name, String(value))
  try {
    return await (await fetchOf(server))(`${base}${path}${query.size > 0 ? `?${query}` : ''}`, {
      method: action.method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(tool === undefined ? {} : { [TOOL_HEADER]: tool }),
        ...(action.body ? { 'content-type': 'application/json' } : {}),
        // Sooner than by default, because a person waits for a sign of progress (RFC 7240).
        ...(action.long ? { prefer: 'wait=2' } : {}),
      },
      body: action.body ? JSON.stringify(input.body ?? {}) : undefined,
      // An export takes as long as its rows and its reader. fetch ends it after five minutes of silence.
      signal: action.lines ? null : AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (error) {
    const { cause = error } = error as Error
    if (UNREACHABLE.includes((cause as NodeJS.ErrnoException).code ?? '')) return undefined
    throw new Error(`the server at ${base} did not answer: ${(cause as Error).message}`)
  }
}

/** The fetch of Node, or one that trusts further certificates. */
const fetchOf = async ({ ca }: RemoteServer): Promise<typeof fetch> =>
  ca === undefined ? fetch : (await import('../net/trusting_fetch.ts')).trustingFetch(ca)

async function readAnswer(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined
  const answer: unknown = await response.json().catch(() => undefined)
  if (response.ok && answer !== undefined) return answer
  const { origin } = new URL(response.url)
  if (response.status === 401)
    throw new OAuthError('unauthorized', `the server at ${origin} uses another admin.api_key`)
  const { error, error_description = '', ...body } = (answer ?? {}) as { error?: string; error_description?: string }
  if (error) throw refusalOf(error, error_description, body)
  throw new Error(`${origin} answered ${response.status}. Is it the admin listener of the service?`)
}

function refusalOf(error = '', description = '', body = {}): Error {
  if (Object.hasOwn(CODES, error)) return new OAuthError(error as ErrorCode, description, { body })
  return new Error(description || error)
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
