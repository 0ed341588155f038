// Jobs: an operation that takes longer than a request may is answered with the id of a job, and goes to its end.
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import { int } from '../lib/field.ts'
import { isId, newId } from '../lib/id.ts'
import { DAY, dated } from '../lib/time.ts'
import type { AdminJob, OnProgress } from '../records/job.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers/jobs.ts'
import { existing } from './outcome.ts'

/** A caller waits this long for the answer itself, or shorter if it prefers that. */
const ANSWER_MS = 10_000

/** The milliseconds to wait for an answer, from the header Prefer (RFC 7240 §4.3): `wait=2` is two seconds. */
export const answerMsOf = (prefer = ''): number =>
  Math.min(ANSWER_MS, Number(/(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/i.exec(prefer)?.[1] ?? ANSWER_MS) * 1000)

const SAVE_MS = 1000
/** A running job of which nothing was written for this long was interrupted: its instance ended. */
const SILENT_SECONDS = 30
const KEPT = 30 * DAY

export const jobs: AdminResource = {
  name: 'job',
  doc: 'Operations that took longer than 10 seconds.',
  columns: ['id', 'operation', 'status', 'percent', 'rows', 'created_at'],
  actions: {
    list: action('GET /admin/jobs', {
      doc: 'Lists the jobs of the last 30 days, newest first.',
      answer: z.array(answers.job),
      query: z.strictObject({ limit: int(1, 200).prefault(50).describe('Maximum number of items.') }),
      run: async ({ store, clock }, { query }) => ({
        shown: (await store.listJobs(query)).map((job) => jobJson(job, clock.now())),
      }),
    }),
    show: action('GET /admin/jobs/{id}', {
      doc: 'Shows a job: how far it is, and at its end the answer of the operation or why it failed.',
      answer: answers.job,
      async run({ store, clock }, { params: { id } }) {
        const job = await existing('job', isId(id) ? store.findJob({ id }) : undefined)
        return { shown: jobJson(job, clock.now()) }
      },
    }),
  },
}

function jobJson({ outcome, ...job }: AdminJob, now: number) {
  const isLost = job.status === 'running' && now - job.seen_at > SILENT_SECONDS
  return {
    ...dated(job),
    status: isLost ? 'interrupted' : job.status,
    ...(job.status === 'done' ? { answer: outcome ?? null } : {}),
    ...(job.status === 'failed' ? (outcome as object) : {}),
  }
}

/**
 * Does some work. Returns its result if it ends within `answerMs`; otherwise the job as which it continues, which is stored.
 * Rejects as the work does within that time.
 */
export async function resultOrJob<R extends { shown?: unknown }>(
  app: Pick<App, 'store' | 'clock' | 'log'>,
  about: Pick<AdminJob, 'operation' | 'actor_id'>,
  work: (onProgress: OnProgress) => Promise<R>,
  answerMs: number,
): Promise<{ result: R } | { job: ReturnType<typeof jobJson> }> {
  const { store, clock, log } = app
  const now = clock.now()
  const job: AdminJob = { id: newId(), ...about, status: 'running', rows: 0, percent: 0, created_at: now, seen_at: now }
  const running = work((rows, share) => Object.assign(job, { rows, percent: Math.floor(share * 100) }))
  const result = await Promise.race([running, sleep(answerMs, undefined, { ref: false })])
  if (result) return { result }
  const ended = running.then(
    ({ shown }) => ({ status: 'done', percent: 100, outcome: shown }) as const,
    (error: unknown) => ({ status: 'failed', outcome: refusalOf(error, log) }) as const,
  )
  const save = (more: Partial<AdminJob> = {}) => {
    Object.assign(job, { seen_at: clock.now() }, more)
    return store.saveJob({ job: { ...job }, keeps: clock.now() - KEPT })
  }
  await save()
  const timer = setInterval(() => void save().catch(() => {}), SAVE_MS)
  void ended
    .then((outcome) => {
      clearInterval(timer)
      return save(outcome)
    })
    .catch((error: unknown) => log.error({ err: error, job: job.id }, 'the end of a job could not be stored'))
  return { job: jobJson(job, clock.now()) }
}

function refusalOf(error: unknown, log: Pick<App['log'], 'error'>): { error: string; error_description: string } {
  if (error instanceof OAuthError) return { error: error.code, error_description: error.message }
  log.error({ err: error }, 'a job failed')
  return { error: 'server_error', error_description: 'internal error' }
}
