// Operations that take longer than a request may.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerMsOf, resultOrJob } from '../../src/admin/jobs.ts'
import { OAuthError } from '../../src/lib/error.ts'
import { newId } from '../../src/lib/id.ts'
import type { OnProgress } from '../../src/records/job.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { ADMIN_KEY, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

type Job = Record<'id' | 'status' | 'operation' | 'actor_id' | 'error_description', string> & {
  rows: number
  percent: number
  answer?: unknown
}
const ABOUT = { operation: 'POST /admin/revocations', actor_id: 'admin' }
/** Starts work that ends when it is told to. Its answer is awaited for 20 ms. */
async function begin() {
  let resolve: (result: { shown?: unknown }) => void = () => {}
  let reject: (error: Error) => void = () => {}
  const promise = new Promise<{ shown?: unknown }>((done, failed) => {
    ;[resolve, reject] = [done, failed]
  })
  let onProgress: OnProgress = () => {}
  const work = (report: OnProgress) => {
    onProgress = report
    return promise
  }
  const begun = await resultOrJob(service.app, ABOUT, work, 20)
  if (!('job' in begun)) throw new Error('it is no job')
  return { id: begun.job.id, resolve, reject, report: onProgress }
}
const jobOf = (id: string) => okAdmin<Job>(service, 'GET', `/admin/jobs/${id}`)

test('work that ends in time has its result, and is no job', async () => {
  expect(await resultOrJob(service.app, ABOUT, async () => ({ shown: 1 }), 5000)).toEqual({ result: { shown: 1 } })
  const refusal = new OAuthError('not_found', 'there is no such key')
  await expect(resultOrJob(service.app, ABOUT, () => Promise.reject(refusal), 5000)).rejects.toBe(refusal)
  expect(await okAdmin(service, 'GET', '/admin/jobs')).toEqual([])
})

test.each([
  [undefined, 10_000],
  ['wait=2', 2000],
  ['respond-async, wait=0', 0],
  ['wait=99', 10_000],
  ['wait=-1', 10_000],
  ['await=3', 10_000],
])('the header Prefer: %s waits %d ms', (prefer, ms) => expect(answerMsOf(prefer)).toBe(ms))

test('a caller that does not wait gets 202 with the place of the job, which has the answer', async () => {
  const answer = await fetch(`${service.admin}/admin/revocations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json', prefer: 'wait=0' },
    body: JSON.stringify({ client_id: 'nobody' }),
  })
  expect(answer.status).toBe(202)
  const { id } = (await answer.json()) as Job
  expect(answer.headers.get('location')).toBe(`/admin/jobs/${id}`)
  await expect.poll(() => jobOf(id)).toMatchObject({ status: 'done', answer: { tokens: 0 } })
})

test('a job shows its progress, and at its end the answer', async () => {
  const { id, report, resolve } = await begin()
  expect(await jobOf(id)).toMatchObject({ ...ABOUT, status: 'running', rows: 0, percent: 0 })
  report(4000, 0.256)
  await expect.poll(() => jobOf(id)).toMatchObject({ status: 'running', rows: 4000, percent: 25 })
  resolve({ shown: { tokens: 9000 } })
  await expect.poll(() => jobOf(id)).toMatchObject({ status: 'done', percent: 100, answer: { tokens: 9000 } })
  expect(await okAdmin<Job[]>(service, 'GET', '/admin/jobs?limit=1')).toMatchObject([{ id, status: 'done' }])
})

test('a job that is refused shows the refusal, and one with a defect only that it failed', async () => {
  for (const [error, description] of [
    [new OAuthError('conflict', 'tokens were issued for it'), 'tokens were issued for it'],
    [new Error('secret detail'), 'internal error'],
  ] as const) {
    const { id, reject } = await begin()
    reject(error)
    await expect.poll(() => jobOf(id)).toMatchObject({ status: 'failed', error_description: description })
  }
})

test('a job whose instance ended is shown as interrupted', async () => {
  const { app } = service
  const [id, now] = [newId(), app.clock.now()]
  const job = { id, ...ABOUT, status: 'running', rows: 5, percent: 1, created_at: now, seen_at: now } as const
  await app.store.saveJob({ job, keeps: 0 })
  expect((await jobOf(id)).status).toBe('running')
  service.advance(31)
  expect((await jobOf(id)).status).toBe('interrupted')
})

test('a job is deleted after 30 days, when another one is stored', async () => {
  const { id, resolve } = await begin()
  resolve({})
  await expect.poll(() => jobOf(id)).toMatchObject({ status: 'done', answer: null })
  service.advance(31 * 86_400)
  const later = await begin()
  later.resolve({})
  expect((await callAdmin(service, 'GET', `/admin/jobs/${id}`)).status).toBe(404)
  await sleep(50)
})
