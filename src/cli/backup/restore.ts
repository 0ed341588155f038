// `service restore`: replaces the database with a backup, which is checked first.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import path from 'node:path'
import type { Env } from '../../config/env.ts'
import { loadConfig } from '../../config/load.ts'
import type { Config } from '../../config/schema.ts'
import { openAtRest } from '../../crypto/at_rest.ts'
import { ID_TOKEN_FOLDER } from '../../crypto/keyfile.ts'
import { replaceFile, syncFolder } from '../../lib/durable.ts'
import { checkCopy } from '../../store/backup.ts'
import { lockDatabase, lockHolder } from '../../store/lock.ts'
import { originOf } from '../origin.ts'
import { UsageError } from '../output.ts'
import { type Entry, type Opening, readArchive, readHeader } from './archive.ts'

export interface Restored {
  database: string
  /** New name of the former database. Empty when there was none. */
  before: string
  created_at: string
  keys: string
}

const ENTRY = /^(service\.db|keys\/(id-token\/)?[\w.-]+\.(pem|json))$/

/** Restores a backup. Throws and changes nothing when the backup is damaged, a server runs, or a database exists and `force` is not set. */
export async function restore(
  configFile: string | undefined,
  env: Env,
  { from, force, allowsClear }: { from: string; force: boolean; allowsClear: boolean },
): Promise<Restored> {
  const { config } = loadConfig(configFile, env)
  const { storage, signing } = config
  if (storage.driver !== 'sqlite') throw new UsageError('restore PostgreSQL with its own tools')
  if (!existsSync(from)) throw new UsageError(`there is no file ${from}`)
  const database = path.resolve(storage.sqlite.path)
  if (existsSync(database) && !force) throw new UsageError(`${database} exists: use --force to rename it`)
  await checkStopped(config, database)
  const { entries, created_at } = await readHeader(from)
  const unknown = entries.find(({ name }) => !ENTRY.test(name))
  if (unknown) throw new Error(`the backup contains ${unknown.name}, which this version does not know`)

  mkdirSync(path.dirname(database), { recursive: true, mode: 0o700 })
  const unlock = await lockDatabase(database, { as: 'service restore' })
  const folder = mkdtempSync(path.join(path.dirname(database), '.restore-'))
  try {
    await unpack(from, folder, entries, { atRest: await openAtRest(config, env), allowsClear })
    checkCopy(path.join(folder, 'service.db'))
    const keys = placeKeys(path.join(folder, 'keys'), signing.key_path)
    const before = putAside(database)
    renameSync(path.join(folder, 'service.db'), database)
    syncFolder(path.dirname(database))
    return { database, before, created_at, keys }
  } finally {
    rmSync(folder, { recursive: true, force: true })
    unlock()
  }
}

/** A running server would keep using the former file. */
async function checkStopped({ server }: Config, database: string): Promise<void> {
  const holder = lockHolder(database)
  if (holder) throw new UsageError(`${database} is in use by ${holder}: stop it first`)
  const origin = originOf(server.address)
  const answers = await fetch(`${origin}/livez`, { signal: AbortSignal.timeout(2000) }).then(
    () => true,
    () => false,
  )
  if (answers) throw new UsageError(`a server answers at ${origin}: stop it first`)
}

async function unpack(from: string, folder: string, entries: readonly Entry[], opening: Opening): Promise<void> {
  const handles = new Map<string, FileHandle>()
  try {
    for (const { name } of entries) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true, mode: 0o700 })
      handles.set(name, await open(path.join(folder, name), 'wx', 0o600))
    }
    await readArchive(from, opening, async ({ name }, bytes) => {
      await handles.get(name)?.writeFile(bytes)
    })
    for (const handle of handles.values()) await handle.sync()
  } finally {
    for (const handle of handles.values()) await handle.close()
  }
}

/** Existing keys are kept, because they may be newer. Returns what was done with the keys in the backup. */
function placeKeys(from: string, folder: string): string {
  if (!existsSync(from)) return 'none in the backup'
  if (existsSync(path.join(folder, 'keys.json'))) return `${folder} stays as it is`
  const parts = [ID_TOKEN_FOLDER, ''].filter((part) => existsSync(path.join(from, part)))
  for (const part of parts) placeFolder(path.join(from, part), path.join(folder, part))
  return `restored to ${folder}`
}

function placeFolder(from: string, folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // The index is written last: a folder of keys without an index is refused.
  const files = readdirSync(from).filter((name) => name !== ID_TOKEN_FOLDER)
  const names = files.sort((a, b) => Number(a.endsWith('.json')) - Number(b.endsWith('.json')))
  for (const name of names) replaceFile(path.join(folder, name), readFileSync(path.join(from, name)))
}

/** Renames the database and its -wal and -shm files. */
function putAside(database: string): string {
  if (!existsSync(database)) return ''
  const aside = `${database}.before-${new Date().toISOString().replace(/[:.]/g, '')}`
  for (const end of ['', '-wal', '-shm']) if (existsSync(database + end)) renameSync(database + end, aside + end)
  return aside
}
