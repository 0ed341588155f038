// Child processes and temporary folders of a run. However the run ends, none of them outlives it.
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

/** Ends the children and removes the folders with this process, also where it dies of an error. */
function guard(): void {
  if (guarded) return
  guarded = true
  process.once('exit', killAll)
}

/** Ends every child by force, and removes the folders, at once: for when this process is about to go. */
export function killAll(): void {
  // Our own files see this process go, and clear up themselves: what they still write to is theirs to remove.
  for (const child of running) if (!child.connected) kill(child)
  try {
    removeFolders()
  } catch {}
}

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  folders.clear()
}

/** By force, with what it started: every child leads a group. */
function kill(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

/** Ends every child, politely and by force after five seconds, and removes the folders. */
export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((child) => stop(child)))
  removeFolders()
}

/** A folder that is removed with this process. */
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

/** Starts a program. A signal to this process's group does not reach it: the run ends it. */
export const start = (program: string, args: readonly string[], options: SpawnOptions): ChildProcess =>
  track(spawn(program, args, { ...options, detached: true }))

/** The built file of a child: one of ours, or one of the checkout that brings a development package. */
const fileOf = (name: string): string | undefined =>
  ['bin', 'bench/peers']
    .map((folder) => path.join(packageRoot, 'dist', folder, `${name}.js`))
    .find((file) => existsSync(file))

/** Whether there is such a file: what needs development packages does not ship. */
export const hasFile = (name: string): boolean => fileOf(name) !== undefined

/** Forks a built file; it is sent `plan` and answers with messages. */
export function startFile(name: string, plan: object): ChildProcess {
  const file = fileOf(name)
  if (!file)
    throw new Error(
      `${name} is not part of this installation: it comes with the checkout, after npm ci and npm run build`,
    )
  const child = track(fork(file, { detached: true }))
  child.send(plan)
  return child
}

/** Ends a child and waits until it is gone. It is asked once, however often it is to end. */
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

/** The next message of a child. Rejects when it ends without one or takes longer than `seconds`. */
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

/** Runs a built file with a plan, in a process of its own. Returns what it sends. */
export async function inChild<R>(name: string, plan: object, seconds: number): Promise<R> {
  const child = startFile(name, plan)
  try {
    return (await nextMessage(child, seconds)) as R
  } finally {
    await stop(child)
  }
}

/** For the child's side: calls `run` with every plan that is sent, one after the other, and ends with the parent. */
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
