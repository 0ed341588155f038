// A load generator for work in which every request needs its own code or token. Runs in a process of its own: each connection
// sends its next request when the last one was answered, and every latency is kept.
import { onPlan } from './children.ts'
import { Connection } from './connection.ts'
import { cpuMicros, type LoadResult, percentiles } from './usage.ts'

export interface LoopPlan {
  /** Redeem codes, rotate refresh tokens, or introspect tokens that the server has not seen since it issued them. */
  work: keyof typeof LOOPS
  base: string
  /** The server, whose CPU time is read. */
  pid: number
  connections: number
  warmupSeconds: number
  seconds: number
  /** Answered by a redirect with a code, thanks to the cookie of a signed-in user who has consented. */
  authorize: { path: string; cookie: string }
  paths: { token: string; introspection: string }
  /** Form fields beside the code or the token, urlencoded. */
  codeForm: string
  refreshForm: string
  /** Of clients in rotation: the form that issues a token, and the one that introspects it. */
  machines: readonly { issueForm: string; introspectForm: string }[]
}
type Loop = (plan: LoopPlan, connections: Connection[]) => Promise<Tally>

/** Codes live for a minute: no more are prepared at once than are redeemed in a few seconds. */
const SLICE = { first: 400, most: 5000 }
/** Preparing is not measured, but must not take for ever. */
const LIMIT = (seconds: number) => 10 * seconds + 30

interface Tally {
  latencies: number[]
  errors: number
  firstError?: string
  seconds: number
  cpuMicros: number
}
const newTally = (): Tally => ({ latencies: [], errors: 0, seconds: 0, cpuMicros: 0 })

const LOOPS = {
  codes: (plan, connections) =>
    inSlices(plan, connections, plan.paths.token, async (connection) => {
      return `${plan.codeForm}&code=${await newCode(plan, connection)}`
    }),
  chains: rotateTokens,
  tokens: (plan, connections) => {
    let issued = 0
    return inSlices(plan, connections, plan.paths.introspection, async (connection) => {
      const { issueForm, introspectForm } = plan.machines[
        issued++ % plan.machines.length
      ] as LoopPlan['machines'][number]
      return `${introspectForm}&token=${await newToken(plan, connection, issueForm, 'access_token')}`
    })
  },
} satisfies Record<string, Loop>

onPlan<LoopPlan>(async (plan) => {
  const connections = Array.from({ length: plan.connections }, () => new Connection(plan.base))
  const measured = await LOOPS[plan.work](plan, connections)
  for (const connection of connections) connection.close()
  const { latencies, errors, firstError, seconds, cpuMicros: cpu } = measured
  return {
    successes: latencies.length,
    errors,
    firstError,
    seconds,
    cpuMicros: cpu,
    ...percentiles(latencies),
  } satisfies LoadResult
})

/** Slices: first forms are prepared on all connections, unmeasured; then each is posted once, measured. */
async function inSlices(
  plan: LoopPlan,
  connections: Connection[],
  path: string,
  prepare: (connection: Connection) => Promise<string>,
): Promise<Tally> {
  const end = performance.now() + LIMIT(plan.warmupSeconds + plan.seconds) * 1000
  const warmup = newTally()
  await slices(plan.warmupSeconds, warmup, SLICE.first)
  const tally = newTally()
  await slices(plan.seconds, tally, sliceFor(warmup, plan.seconds))
  return tally

  async function slices(seconds: number, into: Tally, first: number): Promise<void> {
    for (let size = first; into.seconds < seconds && performance.now() < end; size = sliceFor(into, seconds)) {
      const forms = await prepareForms(size)
      const stop = performance.now() + (seconds - into.seconds) * 1000
      await measure(plan.pid, into, () =>
        Promise.all(
          connections.map(async (connection) => {
            for (let form = forms.pop(); form && performance.now() < stop; form = forms.pop())
              await timed(into, connection, path, form)
          }),
        ),
      )
    }
  }
  async function prepareForms(count: number): Promise<string[]> {
    const forms: string[] = []
    let left = count
    await Promise.all(
      connections.map(async (connection) => {
        while (left-- > 0) forms.push(await prepare(connection))
      }),
    )
    return forms
  }
}

/** As many as the rest of the time needs at the rate so far. */
const sliceFor = (tally: Tally, seconds: number): number => {
  const rate = tally.latencies.length / tally.seconds || SLICE.first
  return Math.ceil(Math.min(SLICE.most, Math.max(SLICE.first, rate * Math.max(seconds - tally.seconds, 0.1) * 1.2)))
}

async function newCode({ authorize }: LoopPlan, connection: Connection): Promise<string> {
  const { head, status, body } = await connection.get(authorize.path, authorize.cookie)
  const code = /\r\nlocation:[^\r]*[?&]code=([^&\r]+)/i.exec(head)?.[1]
  if (!code) throw new Error(`no code from ${authorize.path}: ${status} ${head.slice(0, 500)} ${body.slice(0, 300)}`)
  return code
}

async function newToken(
  { paths }: LoopPlan,
  connection: Connection,
  form: string,
  kind: 'access_token' | 'refresh_token',
): Promise<string> {
  const { status, body } = await connection.post(paths.token, form)
  const token = tokenIn(body, kind)
  if (!token) throw new Error(`no ${kind}: ${status} ${body.slice(0, 500)}`)
  return token
}
const tokenIn = (body: string, kind: string): string | undefined => new RegExp(`"${kind}":"([^"]+)"`).exec(body)?.[1]

/** Each connection keeps a chain: the token of an answer is what the next request sends. */
async function rotateTokens(plan: LoopPlan, connections: Connection[]): Promise<Tally> {
  const firstToken = async (connection: Connection) =>
    newToken(plan, connection, `${plan.codeForm}&code=${await newCode(plan, connection)}`, 'refresh_token')
  const chains = await Promise.all(
    connections.map(async (connection) => ({ connection, token: await firstToken(connection) })),
  )
  const rotateFor = async (seconds: number): Promise<Tally> => {
    const tally = newTally()
    const stop = performance.now() + seconds * 1000
    await measure(plan.pid, tally, () =>
      Promise.all(
        chains.map(async (chain) => {
          while (performance.now() < stop) {
            const form = `${plan.refreshForm}&refresh_token=${chain.token}`
            const body = await timed(tally, chain.connection, plan.paths.token, form)
            // A chain that broke starts anew, which its connection pays with time.
            chain.token = tokenIn(body, 'refresh_token') ?? (await firstToken(chain.connection))
          }
        }),
      ),
    )
    return tally
  }
  await rotateFor(plan.warmupSeconds)
  return rotateFor(plan.seconds)
}

/** Adds the time and the server's CPU time of some work. */
async function measure(pid: number, into: Tally, work: () => Promise<unknown>): Promise<void> {
  const [startedMs, cpu] = [performance.now(), cpuMicros(pid)]
  await work()
  into.seconds += (performance.now() - startedMs) / 1000
  into.cpuMicros += cpuMicros(pid) - cpu
}

/** What an answer that is worth counting holds: a token, or that a token is live. */
const EXPECTED = /"access_token":"|"active":true/

/** POSTs a form and counts the answer. Returns its body, empty when it is not the expected one. */
async function timed(into: Tally, connection: Connection, path: string, form: string): Promise<string> {
  const startedMs = performance.now()
  try {
    const { status, body } = await connection.post(path, form)
    if (status === 200 && EXPECTED.test(body)) {
      into.latencies.push(performance.now() - startedMs)
      return body
    }
    into.errors++
    into.firstError ??= `${status} ${body.slice(0, 300)}`
  } catch (error) {
    into.errors++
    into.firstError ??= (error as Error).message
  }
  return ''
}
