// A load generator for work in which every request needs its own code or token. Runs in a process of its own: each connection
// sends its next request when the last one was answered, and every latency is kept.
import { onPlan } from './children.ts'
import { type Answer, Connection } from './connection.ts'
import { cpuMicros, type LoadResult, percentiles } from './usage.ts'

export interface LoopPlan {
  grant: 'authorization_code' | 'refresh_token'
  base: string
  /** The server, whose CPU time is read. */
  pid: number
  connections: number
  warmupSeconds: number
  seconds: number
  /** Answered by a redirect with a code, thanks to the cookie of a signed-in user who has consented. */
  authorize: { path: string; cookie: string }
  tokenPath: string
  /** Form fields beside the code or the token, urlencoded. */
  codeForm: string
  refreshForm: string
}

/** Codes live for a minute: no more are prepared at once than are redeemed in a few seconds. */
const SLICE = { first: 400, most: 5000 }
/** Preparing codes is not measured, but must not take for ever. */
const LIMIT = (seconds: number) => 10 * seconds + 30

interface Tally {
  latencies: number[]
  errors: number
  firstError?: string
  seconds: number
  cpuMicros: number
}
const newTally = (): Tally => ({ latencies: [], errors: 0, seconds: 0, cpuMicros: 0 })

onPlan<LoopPlan>(async (plan) => {
  const connections = Array.from({ length: plan.connections }, () => new Connection(plan.base))
  const measured = await (plan.grant === 'authorization_code' ? redeemCodes : rotateTokens)(plan, connections)
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

/** Slices: first codes for all connections, unmeasured, then each is redeemed once, measured. */
async function redeemCodes(plan: LoopPlan, connections: Connection[]): Promise<Tally> {
  const end = performance.now() + LIMIT(plan.warmupSeconds + plan.seconds) * 1000
  const warmup = newTally()
  await slices(plan.warmupSeconds, warmup, SLICE.first)
  const tally = newTally()
  await slices(plan.seconds, tally, sliceFor(warmup, plan.seconds))
  return tally

  async function slices(seconds: number, into: Tally, first: number): Promise<void> {
    for (let size = first; into.seconds < seconds && performance.now() < end; size = sliceFor(into, seconds)) {
      const codes = await prepareCodes(plan, connections, size)
      const stop = performance.now() + (seconds - into.seconds) * 1000
      await measure(plan.pid, into, () =>
        Promise.all(
          connections.map(async (connection) => {
            for (let code = codes.pop(); code && performance.now() < stop; code = codes.pop())
              await timed(into, () => connection.post(plan.tokenPath, `${plan.codeForm}&code=${code}`))
          }),
        ),
      )
    }
  }
}

/** As many codes as the rest of the time needs at the rate so far. */
const sliceFor = (tally: Tally, seconds: number): number => {
  const rate = tally.latencies.length / tally.seconds || SLICE.first
  return Math.ceil(Math.min(SLICE.most, Math.max(SLICE.first, rate * Math.max(seconds - tally.seconds, 0.1) * 1.2)))
}

async function prepareCodes(plan: LoopPlan, connections: Connection[], count: number): Promise<string[]> {
  const codes: string[] = []
  let left = count
  await Promise.all(
    connections.map(async (connection) => {
      while (left-- > 0) codes.push(await newCode(plan, connection))
    }),
  )
  return codes
}

async function newCode({ authorize }: LoopPlan, connection: Connection): Promise<string> {
  const { head, status, body } = await connection.get(authorize.path, authorize.cookie)
  const code = /\r\nlocation:[^\r]*[?&]code=([^&\r]+)/i.exec(head)?.[1]
  if (!code) throw new Error(`no code from ${authorize.path}: ${status} ${head.slice(0, 500)} ${body.slice(0, 300)}`)
  return code
}

/** Each connection keeps a chain: the token of an answer is what the next request sends. */
async function rotateTokens(plan: LoopPlan, connections: Connection[]): Promise<Tally> {
  const chains = await Promise.all(
    connections.map(async (connection) => ({ connection, token: await newToken(plan, connection) })),
  )
  const rotateFor = async (seconds: number): Promise<Tally> => {
    const tally = newTally()
    const stop = performance.now() + seconds * 1000
    await measure(plan.pid, tally, () =>
      Promise.all(
        chains.map(async (chain) => {
          while (performance.now() < stop) {
            const answer = await timed(tally, () =>
              chain.connection.post(plan.tokenPath, `${plan.refreshForm}&refresh_token=${chain.token}`),
            )
            // A chain that broke starts anew, which its connection pays with time.
            chain.token = (answer && refreshTokenOf(answer)) ?? (await newToken(plan, chain.connection))
          }
        }),
      ),
    )
    return tally
  }
  await rotateFor(plan.warmupSeconds)
  return rotateFor(plan.seconds)
}

const refreshTokenOf = (answer: Answer): string | undefined => /"refresh_token":"([^"]+)"/.exec(answer.body)?.[1]

async function newToken(plan: LoopPlan, connection: Connection): Promise<string> {
  const code = await newCode(plan, connection)
  const answer = await connection.post(plan.tokenPath, `${plan.codeForm}&code=${code}`)
  const token = refreshTokenOf(answer)
  if (!token) throw new Error(`no refresh token: ${answer.status} ${answer.body.slice(0, 500)}`)
  return token
}

/** Adds the time and the server's CPU time of some work. */
async function measure(pid: number, into: Tally, work: () => Promise<unknown>): Promise<void> {
  const [startedMs, cpu] = [performance.now(), cpuMicros(pid)]
  await work()
  into.seconds += (performance.now() - startedMs) / 1000
  into.cpuMicros += cpuMicros(pid) - cpu
}

/** Sends a request and counts it. Returns the answer when it is a 200. */
async function timed(into: Tally, send: () => Promise<Answer>): Promise<Answer | undefined> {
  const startedMs = performance.now()
  try {
    const answer = await send()
    if (answer.status === 200) {
      into.latencies.push(performance.now() - startedMs)
      return answer
    }
    into.errors++
    into.firstError ??= `${answer.status} ${answer.body.slice(0, 300)}`
  } catch (error) {
    into.errors++
    into.firstError ??= (error as Error).message
  }
  return undefined
}
