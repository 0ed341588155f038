// The ratio of two services under the same load of machine tokens, in alternation.
import { runLoad } from '../load/load.ts'
import { type BenchTarget, HOT_CLIENTS } from '../load/target.ts'
import { loadOf, works } from '../run/scenarios.ts'
import { startService } from '../run/service.ts'
import { median } from '../statistics.ts'

/** Connections of the load generator. */
export const CONNECTIONS = 64
const WARMUP_SECONDS = 2

/** What one service reaches in one round. */
interface Turn {
  per_s: number
  /** CPU time of the service for one token. */
  cpu_us: number
}

async function measureTurn(target: BenchTarget, seconds: number): Promise<Turn> {
  const work = works.find(({ name }) => name === 'client_credentials')
  const feed = work && (await loadOf(work, target))?.feed
  if (feed?.kind !== 'same') throw new Error('client_credentials requests must be repeatable')
  const plan = { url: target.base + feed.path, bodies: feed.forms, connections: CONNECTIONS }
  await runLoad({ ...plan, seconds: WARMUP_SECONDS }, target.probe())
  const { per_s, errors, cpu_us } = await runLoad({ ...plan, seconds }, target.probe())
  if (errors > 0) throw new Error(`${errors} errors`)
  return { per_s, cpu_us: cpu_us.total ?? Number.NaN }
}

interface Turns {
  seconds: number
  rounds: number
  /** Receives the result of each round. */
  onRound?: (round: number, on: Turn, off: Turn) => void
}

/** Measures both services in each round. Returns the medians as text: the ratio of the rates, and of the tokens for the same CPU time. */
export async function compareInTurns(
  on: BenchTarget,
  off: BenchTarget,
  { seconds, rounds, onRound }: Turns,
): Promise<string> {
  const [rates, costs]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    // The order alternates, so that a drift of the machine affects both.
    const first = await measureTurn(round % 2 ? on : off, seconds)
    const second = await measureTurn(round % 2 ? off : on, seconds)
    const [with_, without] = round % 2 ? [first, second] : [second, first]
    rates.push(with_.per_s / without.per_s)
    costs.push(without.cpu_us / with_.cpu_us)
    onRound?.(round + 1, with_, without)
  }
  return `rate ${median(rates).toFixed(3)}, tokens for the same CPU ${median(costs).toFixed(3)} (${rounds} rounds of ${seconds} s)`
}

type Settings = Readonly<Record<string, string>>

/** Starts a service with each of the settings, and prints every round and the ratio of both. `meanwhile` gets the first one. */
export async function compareSettings(
  on: Settings,
  off: Settings,
  { seconds, rounds }: Turns,
  meanwhile: (on: BenchTarget) => void = () => {},
): Promise<string> {
  const start = async (settings: Settings) =>
    (
      await startService({ clients: { hot: HOT_CLIENTS, cold: 0 }, alg: 'ES256', env: { ...process.env, ...settings } })
    )[0]
  const [with_, without] = [await start(on), await start(off)]
  meanwhile(with_)
  const say = ({ per_s, cpu_us }: Turn) => `${Math.round(per_s)}/s at ${cpu_us.toFixed(1)} us`
  return compareInTurns(with_, without, {
    seconds,
    rounds,
    onRound: (round, a, b) => console.log(`round ${round}: on ${say(a)}, off ${say(b)}`),
  })
}
