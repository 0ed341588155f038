// Child processes and temporary folders of a run. However the run ends, none of them outlives it.
import { type ChildProcess, fork, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const running = new Set<ChildProcess>()
const folders = new Set<string>()
const GRACE_MS = 5000

/** Installs what ends children and folders with this process: on its end, an error, Ctrl-C or SIGTERM. */
export function guard(): void {
  process.once('exit', () => {
    for (const child of running) child.kill('SIGKILL')
    for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ] as const)
    process.once(signal, () => process.exit(128 + number))
}

/** Ends every child: politely, and by force after five seconds. */
export const stopAll = async (): Promise<void> => void (await Promise.all([...running].map((child) => stop(child))))

/** A folder that is removed with this process. */
export function tempDir(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-bench-'))
  folders.add(folder)
  return folder
}

function track<C extends ChildProcess>(child: C): C {
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Starts a program. */
export const start = (program: string, args: readonly string[], options: SpawnOptions): ChildProcess =>
  track(spawn(program, args, options))

/** Forks a built file of this folder; it is sent `plan` and answers with messages. */
export function startFile(name: string, plan: object, execArgv: string[] = []): ChildProcess {
  const child = track(fork(fileURLToPath(new URL(`./${name}.js`, import.meta.url)), { execArgv }))
  child.send(plan)
  return child
}

/** Ends a child and waits until it is gone. */
export async function stop(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), GRACE_MS)
  await gone
  clearTimeout(late)
}

/** The first message of a child. Rejects when it ends without one or takes longer than `seconds`. */
export async function firstMessage(child: ChildProcess, seconds: number): Promise<unknown> {
  const until = new AbortController()
  const { signal } = until
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]) => message as unknown),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`a child process ended with ${code} before it answered`)
      }),
      sleep(seconds * 1000, undefined, { signal }).then(() => {
        throw new Error(`no answer of a child process in ${seconds} s`)
      }),
    ])
  } finally {
    until.abort()
  }
}

/** Runs a built file of this folder with a plan, in a process of its own. Returns what it sends. */
export async function inChild<R>(name: string, plan: object, seconds: number): Promise<R> {
  const child = startFile(name, plan)
  try {
    return (await firstMessage(child, seconds)) as R
  } finally {
    await stop(child)
  }
}

/** For the child's side: calls `run` with the plan, and ends with the parent. */
export function onPlan<P>(run: (plan: P) => Promise<unknown>): void {
  process.once('disconnect', () => process.exit(1))
  process.once('message', (plan) => {
    run(plan as P).then(
      (answer) => process.send?.(answer),
      (error: Error) => {
        process.stderr.write(`${error.stack}\n`)
        process.exit(1)
      },
    )
  })
}
