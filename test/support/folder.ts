// Temporary folders that are gone when the test file ends.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll } from 'vitest'

const made: string[] = []
afterAll(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Makes an empty folder. */
export function tempFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-test-'))
  made.push(folder)
  return folder
}

/** Makes a file in a folder of its own; what is no text is written as JSON. Returns where it is. */
export function tempFile(name: string, content: unknown): string {
  const file = path.join(tempFolder(), name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}
