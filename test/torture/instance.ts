// A service as an operator runs it: a process of the built binary that is killed and started again on the same data.
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { programFile } from '../../src/lib/paths.ts'
import { pause } from '../support/wire.ts'

const START_MS = 30_000

/** How the process is started. */
export interface How {
  /** File that its log goes to. */
  log?: number
  /** A command that executes the rest of its arguments. */
  prefix?: readonly string[]
  /** The program, of another build than this one. */
  program?: string
}

export class Instance {
  readonly base: string
  private readonly env: Record<string, string>
  private readonly how: How
  private child?: ChildProcess
  private output = ''

  /** `env` has the SERVICE_ variables; its server.address says where it listens. */
  constructor(env: Record<string, string>, how: How = {}) {
    this.env = env
    this.how = how
    this.base = `http://127.0.0.1:${env['SERVICE_SERVER_ADDRESS']?.split(':').at(-1)}`
  }

  /** Starts it, with flags of `serve`. Resolves when it is ready. */
  async start(flags: readonly string[] = []): Promise<void> {
    const { log, prefix = [], program: built = programFile('service') } = this.how
    const [program = '', ...args] = [...prefix, process.execPath, built, 'serve', ...flags]
    const child = spawn(program, args, {
      env: { PATH: process.env['PATH'], ...this.env },
      stdio: ['ignore', log ?? 'pipe', 'pipe'],
    })
    this.child = child
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.output = (this.output + chunk).slice(-20_000)
      })
    for (const end = performance.now() + START_MS; performance.now() < end; await pause(20)) {
      if (child.exitCode !== null || child.signalCode !== null) break
      const ready = await fetch(`${this.base}/ready`, { signal: AbortSignal.timeout(1000) }).catch(() => undefined)
      if (ready?.status === 200) return
    }
    throw new Error(`the service did not start:\n${this.output}`)
  }

  /** Its process id. */
  pid(): number | undefined {
    return this.child?.pid
  }

  /** What it wrote, the end of it. */
  text(): string {
    return this.output
  }

  /** Events of level error that it logged, the last ones. */
  errors(): string[] {
    return this.output
      .split('\n')
      .filter((line) => line.includes('"level":"error"') || line.includes('"level":"fatal"'))
  }

  /** The memory that it holds. */
  residentBytes(): number {
    const status = readFileSync(`/proc/${this.child?.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024
  }

  /** Sends it a signal that it survives. */
  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal)
  }

  /** Ends it in the midst of whatever it does; SIGKILL unless told. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await gone
  }
}
