// The access of a test file to a server that all files of the run share.
import { inject } from 'vitest'
import type { SharedServer } from './shared_servers.ts'

/** Starts the shared server unless it runs. Resolves to its address, empty when this machine has none; rejects when it does not start. */
export async function sharedServer(name: SharedServer): Promise<string> {
  const answer = await fetch(inject('sharedServers') + name)
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
  return text
}
