// What needs a person now: the list on the first page, in the status and on the command line. No entry means that everything that is
// looked at here was read and is in order: what cannot be read is an entry of its own.
import type { z } from 'zod'
import type { App } from '../context.ts'
import { lagOf } from '../events/lag.ts'
import { DAY, rfc3339 } from '../lib/time.ts'
import { MAX_WAITING } from '../oauth/clients/approval.ts'
import type { EventReceiver } from '../records/event_receiver.ts'
import { SHARED_SETTINGS } from '../records/instance.ts'
import { listWithCursors } from './answers/event_answers.ts'
import type { attention } from './answers/service.ts'
import { busyClients } from './clients/busy_clients.ts'
import { activityOf } from './clients/connections.ts'
import type { Concern } from './posture.ts'
import type { providerStates } from './resources/provider_status.ts'
import { certificateEnds, ENDS_SOON, LATE, lastBackupOf } from './upkeep.ts'

export type Attention = z.output<typeof attention>

/** What the status has read already. Undefined: it could not be read. */
interface Read {
  subsystems: readonly { name: string; status: string }[]
  concerns: readonly Concern[] | undefined
  providers: Awaited<ReturnType<typeof providerStates>> | undefined
  lockouts: number | undefined
  /** Undefined: unknown. Epoch seconds of each target's last run, and whether it succeeded. */
  purges: readonly { target: string; finished_at: number; ok: boolean }[] | undefined
}

/** A client is listed when this many of its requests, and this share of them, were refused within five minutes. */
const [REFUSED, SHARE] = [20, 0.25]
/** Entries of one kind; the text of the last one says how many more there are. */
const MOST = 10
/** Everything that needs a person, what is worst first. Never rejects. */
export async function attentionOf(app: App, read: Read): Promise<Attention[]> {
  const lists = await Promise.all([
    parts(read),
    database(app),
    orUnknown('providers', 'home', read.providers && providers(read.providers)),
    orUnknown('webhooks and streams', 'webhooks', receivers(app)),
    orUnknown('clients', 'connections', clients(app)),
    orUnknown('client requests', 'client-requests', clientRequests(app)),
    orUnknown('client documents', 'clients', documents(app)),
    orUnknown('lockouts', 'lockouts', read.lockouts === undefined ? undefined : lockouts(read.lockouts)),
    orUnknown('purges', 'home', read.purges && purges(app, read.purges)),
    orUnknown('backups', 'home', backups(app)),
    orUnknown('certificates', 'home', endingCertificates(app)),
    orUnknown('settings', 'settings', read.concerns && settings(read.concerns)),
  ])
  const all = lists.flat()
  return [...all.filter(({ severity }) => severity === 'bad'), ...all.filter(({ severity }) => severity !== 'bad')]
}

/** The entries, or one that says that they cannot be read. */
async function orUnknown(
  what: string,
  page: string,
  list: Attention[] | undefined | Promise<Attention[]>,
): Promise<Attention[]> {
  const found = await Promise.resolve(list).catch(() => undefined)
  return found ?? [entry('unknown', 'warn', page, `The state of ${what} cannot be read now.`)]
}

/** An entry. `since` is in epoch seconds. */
const entry = (
  kind: Attention['kind'],
  severity: Attention['severity'],
  page: string,
  text: string,
  since?: number,
): Attention => ({ kind, severity, text, page, ...(since === undefined ? {} : { since: rfc3339(since) }) })

const parts = ({ subsystems }: Read): Attention[] =>
  subsystems
    .filter(({ status }) => status === 'unhealthy')
    .map(({ name }) => entry('part', 'bad', 'home', `The ${name} is not healthy.`))

/** When this process noticed that the database is in an earlier state than before, in epoch seconds, if that was within a day. */
export function wentBackLately({ store, clock }: Pick<App, 'store' | 'clock'>): number | undefined {
  const at = store.driver.wentBackAt?.()
  return at !== undefined && clock.now() - at < DAY ? at : undefined
}

/** What this process knows of the database and of the instances on it. */
function database(app: App): Attention[] {
  const at = wentBackLately(app)
  const differing = app.store.driver.differing?.() ?? []
  const back = 'The database went back to an earlier state: repeat the revocations and suspensions that were lost.'
  const names = differing.map((name) => SHARED_SETTINGS[name]).join(', ')
  return [
    ...(at === undefined ? [] : [entry('database', 'bad', 'audit', back, at)]),
    ...(names === '' ? [] : [entry('instances', 'bad', 'home', `The instances differ in ${names}.`)]),
  ]
}

const providers = (states: NonNullable<Read['providers']>): Attention[] =>
  states.flatMap((state) =>
    'usable' in state && state.usable === false
      ? {
          kind: 'provider',
          severity: 'bad',
          text: `The provider ${state.slug} cannot be used${'reason' in state && state.reason ? `: ${state.reason}` : ''}.`,
          page: state.use === 'assertions' ? 'idps' : 'home',
          since: 'since' in state ? state.since : undefined,
        }
      : [],
  )

/** Webhooks and streams whose deliveries fail, or that a failure or an operator has stopped while events wait. */
async function receivers(app: App): Promise<Attention[]> {
  const all = [...(await listWithCursors(app, 'webhook')), ...(await listWithCursors(app, 'stream'))]
  const ill = all.filter(({ receiver, cursor }) => receiver.status !== 'enabled' || cursor.failing_since !== undefined)
  const found: Attention[] = []
  for (const { receiver, cursor } of ill.slice(0, MOST)) {
    const { pending } = await lagOf(app, receiver, cursor)
    const waiting = pending === 1 ? '1 event waits' : `${pending} events wait`
    const page = `${receiver.kind}s`
    const { failing_since, last_error = 'no reason is known' } = cursor
    const failure = `${nameOf(receiver)}: deliveries fail (${last_error}), ${waiting}.`
    if (failing_since !== undefined) found.push(entry('receiver', 'bad', page, failure, failing_since))
    else if (pending > 0)
      found.push(entry('receiver', 'warn', page, `${nameOf(receiver)} is ${receiver.status}, ${waiting}.`))
  }
  return found
}

const nameOf = ({ kind, id, url, settings }: EventReceiver): string =>
  `The ${kind} ${settings.description || (url ? new URL(url).host : id)}`

/** The clients of which many requests are refused. Ids that no client has are not listed. */
async function clients(app: App): Promise<Attention[]> {
  const busy = await busyClients(app, await activityOf(app), 'refused')
  return busy
    .filter(({ requests, refused }) => refused >= REFUSED && refused >= SHARE * requests)
    .slice(0, MOST)
    .map(({ client: { client_id, client_name }, requests, refused, reason }) => {
      const text = `${client_name || client_id}: ${refused} of ${requests} requests were refused within 5 minutes${reason ? ` (${reason})` : ''}.`
      return entry('client', 'bad', pageOf(client_id), text)
    })
}
const pageOf = (client_id: string): string => `clients/${encodeURIComponent(client_id)}`

async function clientRequests({ store }: App): Promise<Attention[]> {
  const waiting = await store.listClientRequests({ status: 'waiting', limit: MAX_WAITING })
  const oldest = waiting.at(-1)
  if (!oldest) return []
  const text = `${waiting.length} ${waiting.length === 1 ? 'client waits' : 'clients wait'} for approval.`
  return [entry('client_requests', 'warn', 'client-requests', text, oldest.first_at)]
}

/** The clients whose metadata document cannot be fetched. */
async function documents({ store }: App): Promise<Attention[]> {
  const failing = await store.listFailingDocuments({ limit: MOST + 1 })
  return failing.slice(0, MOST).map(({ client_id, document_error, document_fetched_at }, i) => {
    const more = i === MOST - 1 && failing.length > MOST ? ' There are more such clients.' : ''
    const text = `The document of the client ${client_id} cannot be used: ${document_error}.${more}`
    return entry('document', 'warn', pageOf(client_id), text, document_fetched_at)
  })
}

function lockouts(count: number): Attention[] {
  const are = count === 1 ? 'address or account is' : 'addresses or accounts are'
  return count === 0 ? [] : [entry('lockouts', 'warn', 'lockouts', `${count} ${are} locked out after failed logins.`)]
}

function purges(app: App, runs: NonNullable<Read['purges']>): Attention[] {
  const now = app.clock.now()
  const one = (text: string, since: number) => entry('purge', 'warn', 'home', text, since)
  return runs.flatMap(({ target, finished_at, ok }) => {
    if (!ok) return one(`The last purge of ${target} failed.`, finished_at)
    const age = now - finished_at
    return age > LATE ? one(`The last purge of ${target} was ${Math.floor(age / DAY)} days ago.`, finished_at) : []
  })
}

/** A deployment that does not use `service backup` has no entry. */
async function backups(app: App): Promise<Attention[]> {
  const at = await lastBackupOf(app)
  if (at === undefined || app.clock.now() - at <= LATE) return []
  const text = `The last backup was ${Math.floor((app.clock.now() - at) / DAY)} days ago.`
  return [entry('backup', 'warn', 'home', text, at)]
}

async function endingCertificates(app: App): Promise<Attention[]> {
  const ends = Object.entries(await certificateEnds(app)).filter(([, end]) => end - app.clock.now() < ENDS_SOON)
  return ends.map(([slug, end]) => {
    const text = `The certificate of the provider ${slug} ends on ${rfc3339(end).slice(0, 10)}.`
    return entry('certificate', 'warn', 'home', text)
  })
}

const settings = (concerns: readonly Concern[]): Attention[] =>
  concerns
    .filter(({ severity }) => severity === 'bad')
    .map(({ key, because }) => entry('setting', 'bad', 'settings', `${key}: ${because}.`))
