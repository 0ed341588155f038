// The keyfile store: one PEM file per kid and an index file that is replaced atomically. Only the owner may read the folder.
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { replaceFile } from '../lib/durable.ts'
import { codeOf } from '../lib/error.ts'
import type { KeyStore, StoredKey } from './stored_keys.ts'

const INDEX = 'keys.json'
const LOCK = 'keys.lock'
const LOCK_STALE_MS = 10_000

/** Opens the key store in a folder. */
export function keyfileStore(folder: string): KeyStore {
  const inFolder = (name: string) => path.join(folder, name)
  const pemFile = (kid: string) => inFolder(`${kid}.pem`)

  const load = async (): Promise<StoredKey[]> => {
    if (!existsSync(inFolder(INDEX))) {
      // New keys would silently invalidate every token that the old keys signed.
      if (existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.pem')))
        throw new Error(`${inFolder(INDEX)} is missing, but the folder contains keys`)
      return []
    }
    for (let shown = readIndex(inFolder(INDEX)); ; ) {
      try {
        return shown.map((key) => ({ ...key, pem: readKey(pemFile(key.kid)) }))
      } catch (error) {
        // Another process may have removed a key after the index was read.
        const now = readIndex(inFolder(INDEX))
        if (codeOf(error) !== 'ENOENT' || isDeepStrictEqual(now, shown)) throw error
        shown = now
      }
    }
  }
  const writeIndex = (keys: StoredKey[]) => {
    const shown = keys.map(({ pem: _pem, ...rest }) => rest)
    replaceFile(inFolder(INDEX), `${JSON.stringify({ keys: shown }, null, 2)}\n`)
  }
  const save = (keys: StoredKey[], before: StoredKey[]) => {
    // Written before the first key, so that no process finds a key without an index, even after a crash.
    if (!existsSync(inFolder(INDEX))) writeIndex([])
    for (const key of keys) if (!existsSync(pemFile(key.kid))) replaceFile(pemFile(key.kid), key.pem)
    writeIndex(keys)
    for (const gone of before) if (!keys.some((key) => key.kid === gone.kid)) rmSync(pemFile(gone.kid), { force: true })
  }

  return {
    name: 'keyfile',
    load,
    async change(decide) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      chmodSync(folder, 0o700)
      const unlock = await lock(inFolder(LOCK))
      try {
        const before = await load()
        const keys = decide(before)
        save(keys, before)
        return keys
      } finally {
        unlock()
      }
    },
  }
}

function readIndex(file: string): Omit<StoredKey, 'pem'>[] {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { keys: Omit<StoredKey, 'pem'>[] }).keys
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/** Reads a private key. If other users could read the file, its mode is corrected. */
function readKey(file: string): string {
  if (statSync(file).mode & 0o077) chmodSync(file, 0o600)
  return readFileSync(file, 'utf8')
}

/** Excludes other processes. The lock of a process that died is taken over. */
async function lock(file: string): Promise<() => void> {
  for (const deadline = Date.now() + 2 * LOCK_STALE_MS; ; ) {
    try {
      closeSync(openSync(file, 'wx', 0o600))
      return () => rmSync(file, { force: true })
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      if (Date.now() > deadline) throw new Error(`${file} is held by another process`)
      const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0)
      if (age > LOCK_STALE_MS) rmSync(file, { force: true })
      else await sleep(20)
    }
  }
}
