// A new database with every migration. The migrations run once in a process: copying their result takes a tenth of their time.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { prepareDatabase } from '../../src/store/database.ts'

let migrated: Buffer | undefined

/** Writes the database to a file that does not exist. */
export function createMigratedDatabase(file: string): void {
  migrated ??= migrate()
  writeFileSync(file, migrated, { mode: 0o600 })
}

function migrate(): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'service-migrated-'))
  try {
    const file = path.join(folder, 'service.db')
    prepareDatabase(file, true, Math.floor(Date.now() / 1000))
    return readFileSync(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
