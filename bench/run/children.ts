// Child processes and temporary folders of a run. They end with the run, however it ends.
import { type ChildProcess, fork, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packageRoot } from '../../src/lib/paths.ts'

const running = new Set<ChildProcess>()
const ending = new WeakMap<ChildProcess, Promise<void>>()
const folders = new Set<string>()
const GRACE_MS = 5000
let guarded = false

/** Ends the children and removes the folders when this process exits, also after an error. */
function guard(): void {
  if (guarded) return
  guarded = true
  process.once('exit', killAll)
}

/** Kills every child and removes the folders at once, before this process exits. */
export function killAll(): void {
  // Children of the benchmark notice the end of this process and remove their own folders, to which they may still write.
  for (const child of running) if (!child.connected) kill(child)
  try {
    removeFolders()
  } catch {}
}

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  folders.clear()
}

/** Kills a child and the processes that it started: every child leads a process group. */
function kill(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

/** Terminates every child, kills it after five seconds, and removes the folders. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((child) => stop(child)))
  removeFolders()
}

/** Creates a folder that is removed when this process exits. */
export function tempDir(): string {
  guard()
  const folder = mkdtempSync(path.join(tmpdir(), 'service-bench-'))
  folders.add(folder)
  return folder
}

function track<C extends ChildProcess>(child: C): C {
  guard()
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Starts a program in a process group of its own: signals to the group of this process do not reach it, and the run ends it. */
export const start = (program: string, args: readonly string[], options: SpawnOptions): ChildProcess =>
  track(spawn(program, args, { ...options, detached: true }))

/** The built file of a child: one that ships, or one of the checkout that needs a development package. */
const fileOf = (name: string): string | undefined =>
  ['bin', 'bench/peers']
    .map((folder) => path.join(packageRoot, 'dist', folder, `${name}.js`))
    .find((file) => existsSync(file))

/** Whether the file exists: files that need development packages do not ship. */
export const hasFile = (name: string): boolean => fileOf(name) !== undefined

/** A program with its arguments on certain processors, as a list for taskset such as 0-3. */
export const pinned = (
  processors: string | undefined,
  program: string,
  args: readonly string[],
): [program: string, args: string[]] =>
  processors ? ['taskset', ['-c', processors, program, ...args]] : [program, [...args]]

/** Forks a built file, on certain processors if they are given, and sends it `plan`. It answers with messages. `node` is the program that runs it. */
export function startFile(name: string, plan: object, processors?: string, node = process.execPath): ChildProcess {
  const file = fileOf(name)
  if (!file)
    throw new Error(
      `${name} is not part of this installation: it comes with the checkout, after npm ci and npm run build`,
    )
  const [execPath, execArgv] = pinned(processors, node, [])
  const child = track(fork(file, { detached: true, execPath, execArgv }))
  child.send(plan)
  return child
}

/** Terminates a child and waits until it has exited. Further calls wait for the same exit. */
export async function stop(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return
  const end = ending.get(child) ?? terminate(child)
  ending.set(child, end)
  await end
}

async function terminate(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => kill(child), GRACE_MS)
  await gone
  clearTimeout(late)
}

/** The next message of a child. Rejects when it exits without a message or takes longer than `seconds`. */
export async function nextMessage(child: ChildProcess, seconds: number): Promise<unknown> {
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

/** Runs a built file with a plan in a process of its own. Returns its message. */
export async function inChild<R>(name: string, plan: object, seconds: number, processors?: string): Promise<R> {
  const child = startFile(name, plan, processors)
  try {
    return (await nextMessage(child, seconds)) as R
  } finally {
    await stop(child)
  }
}

/** In the child: calls `run` with every plan that is sent, one after the other. Exits with the parent. */
export function onPlans<P>(run: (plan: P) => Promise<unknown>): void {
  let last: Promise<unknown> = Promise.resolve()
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.on('message', (plan) => {
    last = last
      .then(() => run(plan as P))
      .then(
        (answer) => process.send?.(answer),
        (error: Error) => {
          process.stderr.write(`${error.stack}\n`)
          process.kill(process.pid, 'SIGTERM')
        },
      )
  })
}
