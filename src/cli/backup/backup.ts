// `service backup`: a consistent copy of the database, and the signing keys when they are files and the backup is encrypted.
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Env } from '../../config/env.ts'
import { loadConfig } from '../../config/load.ts'
import { openAtRest } from '../../crypto/at_rest.ts'
import { ID_TOKEN_FOLDER } from '../../crypto/keyfile.ts'
import { readBuild } from '../../lib/build.ts'
import { syncFolder } from '../../lib/durable.ts'
import { newId } from '../../lib/id.ts'
import { rfc3339, systemClock } from '../../lib/time.ts'
import { copyDatabase, noteBackup } from '../../store/backup.ts'
import { hasDatabase, noDatabase } from '../../store/open.ts'
import { UsageError } from '../output.ts'
import { type Source, writeArchive } from './archive.ts'

export interface BackedUp {
  file: string
  bytes: number
  encrypted: boolean
  /** Whether it contains the signing keys. */
  keys: boolean
}

/** Writes a backup of the SQLite database to a new file. The server may run. On failure it throws and leaves no file. */
export async function backup(configFile: string | undefined, env: Env, to: string): Promise<BackedUp> {
  const { config } = loadConfig(configFile, env)
  const { storage, signing } = config
  if (storage.driver !== 'sqlite') throw new UsageError('back up PostgreSQL with its own tools: pg_dump, or its WAL')
  if (existsSync(to)) throw new UsageError(`${to} exists already`)
  const database = storage.sqlite.path
  if (!(await hasDatabase(storage))) throw noDatabase(storage)
  const atRest = await openAtRest(config, env)
  const copy = path.join(path.dirname(path.resolve(to)), `.${newId()}.db`)
  try {
    copyDatabase(database, copy)
    // With unencrypted private keys, every copy of the file could sign tokens.
    const keys = atRest && signing.key_store === 'keyfile' ? keyFiles(signing.key_path) : []
    const about = { created_at: rfc3339(systemClock.now()), version: readBuild().version }
    await writeArchive(to, [sourceOf('service.db', copy), ...keys], about, atRest)
    syncFolder(path.dirname(path.resolve(to)))
    noteBackup(database)
    return { file: to, bytes: statSync(to).size, encrypted: atRest !== undefined, keys: keys.length > 0 }
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  } finally {
    rmSync(copy, { force: true })
    rmSync(`${copy}-journal`, { force: true })
  }
}

const sourceOf = (name: string, file: string): Source => ({ name, file, bytes: statSync(file).size })

function keyFiles(folder: string): Source[] {
  if (!existsSync(folder)) throw new Error(`no signing key in ${path.resolve(folder)}: is --config right?`)
  return ['', ID_TOKEN_FOLDER].flatMap((part) => {
    const from = path.join(folder, part)
    if (!existsSync(from)) return []
    return readdirSync(from)
      .filter((name) => name.endsWith('.pem') || name === 'keys.json')
      .map((name) => sourceOf(path.posix.join('keys', part, name), path.join(from, name)))
  })
}
