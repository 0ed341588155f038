// Processes that a test starts beside the service.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Ends a process and the processes that it started: nginx leaves its workers behind when it is killed. Resolves when it has ended. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const kill = setTimeout(() => child.kill('SIGKILL'), 5000)
  await gone
  clearTimeout(kill)
}
