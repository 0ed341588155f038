// Temporary folders that are removed when the test file ends.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { atEndOfFile } from './end_of_file.ts'

/** Makes an empty folder. */
export function tempFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-test-'))
  atEndOfFile(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Creates a file in a new folder. A value that is not a string is written as JSON. Returns the path. */
export function tempFile(name: string, content: unknown): string {
  const file = path.join(tempFolder(), name)
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}
