// What needs a person now: the list on the first page, in the status and on the command line. No entry means that everything that is
// looked at here was read and is in order: what cannot be read is an entry of its own.
import type { App } from '../context.ts'
import { lagOf } from '../events/lag.ts'
import { DAY, rfc3339 } from '../lib/time.ts'
import { MAX_WAITING } from '../oauth/clients/approval.ts'
import type { EventReceiver } from '../records/event_receiver.ts'
import { SHARED_SETTINGS } from '../records/instance.ts'
import { listWithCursors } from './answers/event_answers.ts'
import { busyClients } from './clients/busy_clients.ts'
import { activityOf } from './clients/connections.ts'
import type { Concern } from './posture.ts'
import type { providerStates } from './resources/provider_status.ts'
import { certificateEnds, ENDS_SOON, LATE, lastBackupOf } from './upkeep.ts'

export interface Attention {
  kind:
    | 'part'
    | 'provider'
    | 'receiver'
    | 'client'
    | 'client_requests'
    | 'document'
    | 'lockouts'
    | 'purge'
    | 'backup'
    | 'certificate'
    | 'setting'
    | 'instances'
    | 'database'
    | 'unknown'
  severity: 'bad' | 'warn'
  text: string
  /** The page of it on the admin page, as a path below /admin/ui/. */
  page: string
  /** Since when, if that is known. */
  since?: string | undefined
}

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
  return found ?? [{ kind: 'unknown', severity: 'warn', text: `The state of ${what} cannot be read now.`, page }]
}

const parts = ({ subsystems }: Read): Attention[] =>
  subsystems
    .filter(({ status }) => status === 'unhealthy')
    .map(({ name }) => ({ kind: 'part', severity: 'bad', text: `The ${name} is not healthy.`, page: 'home' }))

/** When this process noticed that the database is in an earlier state than before, in epoch seconds, if that was within a day. */
export function wentBackLately({ store, clock }: Pick<App, 'store' | 'clock'>): number | undefined {
  const at = store.driver.wentBackAt?.()
  return at !== undefined && clock.now() - at < DAY ? at : undefined
}

/** What this process knows of the database and of the instances on it. */
function database(app: App): Attention[] {
  const at = wentBackLately(app)
  const differing = app.store.driver.differing?.() ?? []
  return [
    ...(at !== undefined
      ? [
          {
            kind: 'database',
            severity: 'bad',
            text: 'The database went back to an earlier state: repeat the revocations and suspensions that were lost.',
            page: 'audit',
            since: rfc3339(at),
          } as const,
        ]
      : []),
    ...(differing.length > 0
      ? [
          {
            kind: 'instances',
            severity: 'bad',
            text: `The instances differ in ${differing.map((name) => SHARED_SETTINGS[name]).join(', ')}.`,
            page: 'home',
          } as const,
        ]
      : []),
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
    if (cursor.failing_since !== undefined)
      found.push({
        kind: 'receiver',
        severity: 'bad',
        text: `${nameOf(receiver)}: deliveries fail (${cursor.last_error ?? 'no reason is known'}), ${waiting}.`,
        page,
        since: rfc3339(cursor.failing_since),
      })
    else if (pending > 0)
      found.push({
        kind: 'receiver',
        severity: 'warn',
        text: `${nameOf(receiver)} is ${receiver.status}, ${waiting}.`,
        page,
      })
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
    .map(({ client: { client_id, client_name }, requests, refused, reason }) => ({
      kind: 'client',
      severity: 'bad',
      text: `${client_name || client_id}: ${refused} of ${requests} requests were refused within 5 minutes${reason ? ` (${reason})` : ''}.`,
      page: `clients/${encodeURIComponent(client_id)}`,
    }))
}

async function clientRequests({ store }: App): Promise<Attention[]> {
  const waiting = await store.listClientRequests({ status: 'waiting', limit: MAX_WAITING })
  const oldest = waiting.at(-1)
  if (!oldest) return []
  const text = `${waiting.length} ${waiting.length === 1 ? 'client waits' : 'clients wait'} for approval.`
  return [{ kind: 'client_requests', severity: 'warn', text, page: 'client-requests', since: rfc3339(oldest.first_at) }]
}

/** The clients whose metadata document cannot be fetched. */
async function documents({ store }: App): Promise<Attention[]> {
  const failing = await store.listFailingDocuments({ limit: MOST + 1 })
  return failing.slice(0, MOST).map(({ client_id, document_error, document_fetched_at: at }, i) => ({
    kind: 'document',
    severity: 'warn',
    text: `The document of the client ${client_id} cannot be used: ${document_error}.${i === MOST - 1 && failing.length > MOST ? ' There are more such clients.' : ''}`,
    page: `clients/${encodeURIComponent(client_id)}`,
    ...(at === undefined ? {} : { since: rfc3339(at) }),
  }))
}

const lockouts = (count: number): Attention[] =>
  count === 0
    ? []
    : [
        {
          kind: 'lockouts',
          severity: 'warn',
          text: `${count} ${count === 1 ? 'address or account is' : 'addresses or accounts are'} locked out after failed logins.`,
          page: 'lockouts',
        },
      ]

function purges(app: App, runs: NonNullable<Read['purges']>): Attention[] {
  const now = app.clock.now()
  const one = (text: string, since?: number): Attention => ({
    kind: 'purge',
    severity: 'warn',
    text,
    page: 'home',
    ...(since === undefined ? {} : { since: rfc3339(since) }),
  })
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
  return [{ kind: 'backup', severity: 'warn', text, page: 'home', since: rfc3339(at) }]
}

async function endingCertificates(app: App): Promise<Attention[]> {
  const ends = Object.entries(await certificateEnds(app)).filter(([, end]) => end - app.clock.now() < ENDS_SOON)
  return ends.map(([slug, end]) => ({
    kind: 'certificate',
    severity: 'warn',
    text: `The certificate of the provider ${slug} ends on ${rfc3339(end).slice(0, 10)}.`,
    page: 'home',
  }))
}

const settings = (concerns: readonly Concern[]): Attention[] =>
  concerns
    .filter(({ severity }) => severity === 'bad')
    .map(({ key, because }) => ({
      kind: 'setting',
      severity: 'bad',
      text: `${key}: ${because}.`,
      page: 'settings',
    }))
