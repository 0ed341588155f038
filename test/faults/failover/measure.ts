// What a fault costs: load on both instances, a fault in the midst of it, and afterwards everything that was answered is
// compared with the database.

import { eventually, pause } from '../../support/wire.ts'
import { broken } from '../../torture/check.ts'
import { load, type Torture } from '../../torture/clients.ts'
import type { Machine } from '../../torture/history.ts'
import { History } from '../../torture/history.ts'
import type { Instance } from '../../torture/instance.ts'
import type { Instances } from './lab.ts'

/** A row of the table in docs/operate/postgres.md; times in milliseconds. */
export interface Row {
  fault: string
  /** From when the address led to a server that works, to the first token of the slower instance. */
  firstToken: number
  /** From the last token that could be issued to the first 503 of /ready; undefined where it never said so. */
  notReady: number | undefined
  slowest: number
  /** Most connections of one instance that the server had at once. */
  backends: number
  issued: number
  /** Requests for tokens that were not answered with one: refused, or without an answer. */
  refused: number
  /** Everything that did not hold, in words: lost, used twice, or a 500. */
  broken: string[]
}

interface Answer {
  sent: number
  done: number
  status: number
}

const TOKEN_MS = 50
const READY_MS = 100
const BACKENDS_MS = 200

/** Asks one instance for tokens and whether it is ready, at a steady pace whatever it answers. */
class Probe {
  readonly tokens: Answer[] = []
  readonly readiness: Answer[] = []
  private readonly timers: NodeJS.Timeout[]
  private readonly under = new Set<Promise<void>>()

  constructor({ base }: Instance, machine: Machine) {
    const body = new URLSearchParams({ grant_type: 'client_credentials', ...machine })
    const token = () => this.ask(this.tokens, `${base}/oauth/token`, { method: 'POST', body })
    const ready = () => this.ask(this.readiness, `${base}/ready`, {})
    this.timers = [setInterval(token, TOKEN_MS), setInterval(ready, READY_MS)]
  }

  async end(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer)
    await Promise.all(this.under)
  }

  /** When the first token came that was answered at `since` or later. */
  firstToken(since: number): number | undefined {
    return this.tokens.find(({ done, status }) => status === 200 && done >= since)?.done
  }

  notReady(since: number): number | undefined {
    const said = this.readiness.find(({ sent, status }) => status === 503 && sent >= since)
    const last = this.tokens.findLast(({ done, status }) => status === 200 && said && done <= said.done)
    return said && Math.max(0, said.done - (last?.done ?? since))
  }

  private ask(into: Answer[], url: string, init: RequestInit): void {
    const sent = performance.now()
    const asked = fetch(url, { ...init, signal: AbortSignal.timeout(60_000) })
      .then(async (answer) => {
        await answer.arrayBuffer()
        return answer.status
      })
      .catch(() => 0)
      .then((status) => {
        into.push({ sent, done: performance.now(), status })
        this.under.delete(asked)
      })
    this.under.add(asked)
  }
}

export interface Measured extends Instances {
  /** Where connections are counted. */
  servers(): readonly { sql(text: string): Promise<Record<string, unknown>[]> }[]
}

/** Puts both instances under load, lets the fault happen, and goes on until both issue tokens again. `fault` resolves when a server works. */
export async function measure<L extends Measured>(
  lab: L,
  name: string,
  fault: (lab: L) => Promise<void>,
): Promise<Row> {
  const history = new History()
  const { instances, scene } = lab
  const base = () => (instances[Math.floor(Math.random() * instances.length)] as Instance).base
  const torture: Torture = { ...scene, history, base, running: true }
  const ended = load(torture)
  const probes = instances.map((instance) => new Probe(instance, scene.machine))
  const backends = watchBackends(lab)
  await eventually(() => history.issued.length > 50, 60_000)
  await pause(1000)
  const begun = performance.now()
  await fault(lab)
  const works = performance.now()
  await eventually(() => probes.every((probe) => probe.firstToken(works)), 200_000)
  await pause(1500)
  torture.running = false
  await Promise.all([ended, ...probes.map((probe) => probe.end())])
  const most = await backends.end()
  const tokens = probes.flatMap((probe) => probe.tokens)
  const statuses = new Set(tokens.map(({ status }) => status))
  return {
    fault: name,
    firstToken: Math.max(...probes.map((probe) => (probe.firstToken(works) ?? Number.NaN) - works)),
    notReady: probes.map((probe) => probe.notReady(begun)).reduce(later),
    slowest: Math.max(...tokens.map(({ sent, done }) => done - sent)),
    backends: most,
    issued: history.issued.length,
    refused: tokens.filter(({ status }) => status !== 200).length,
    broken: [
      ...(await broken(torture)),
      ...[...statuses].filter((status) => ![0, 200, 503].includes(status)).map((status) => `an answer ${status}`),
    ],
  }
}

const later = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? undefined : Math.max(a, b)

/** Counts the connections of each instance at every server that answers. */
function watchBackends(lab: Measured): { end(): Promise<number> } {
  let most = 0
  let running = true
  const count = async () => {
    for (; running; await pause(BACKENDS_MS))
      for (const server of lab.servers()) {
        const rows = await server
          .sql(
            "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name LIKE 'instance-%' GROUP BY application_name",
          )
          .catch(() => [])
        for (const row of rows ?? []) most = Math.max(most, Number(row['n']))
      }
  }
  const counted = count()
  return {
    async end() {
      running = false
      await counted
      return most
    },
  }
}

/** The rows as the table of the documentation. */
export function tableOf(rows: readonly Row[]): string {
  const seconds = (ms: number | undefined) => (ms === undefined ? '–' : `${(ms / 1000).toFixed(1)} s`)
  return [
    '| fault | first token | /ready 503 | slowest answer | connections | tokens, refused | lost or reused |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(
      (row) =>
        `| ${row.fault} | ${seconds(row.firstToken)} | ${seconds(row.notReady)} | ${seconds(row.slowest)} | ${row.backends} | ${row.issued}, ${row.refused} | ${row.broken.length} |`,
    ),
  ].join('\n')
}
