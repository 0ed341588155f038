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

/** The folder of the keys of ID tokens, in that of the signing keys. */
export const ID_TOKEN_FOLDER = 'id-token'

const INDEX = 'keys.json'
const LOCK = 'keys.lock'
const LOCK_STALE_MS = 10_000

/** Opens the key store in a folder. */
export function keyfileStore(folder: string): KeyStore {
  return {
    name: 'keyfile',
    load: async () => loadKeys(folder),
    async change(decide) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      chmodSync(folder, 0o700)
      const unlock = await lock(path.join(folder, LOCK))
      try {
        const before = loadKeys(folder)
        const keys = decide(before)
        saveKeys(folder, keys, before)
        return keys
      } finally {
        unlock()
      }
    },
  }
}

const indexFile = (folder: string) => path.join(folder, INDEX)
const pemFile = (folder: string, kid: string) => path.join(folder, `${kid}.pem`)

function loadKeys(folder: string): StoredKey[] {
  const index = indexFile(folder)
  if (!existsSync(index)) {
    if (!existsSync(folder) || !readdirSync(folder).some((name) => name.endsWith('.pem'))) return []
    // Another process writes the index before its first key: where a key is there by now, so is the index. Without an index, new keys would
    // silently invalidate every token that the old keys signed.
    if (!existsSync(index)) throw new Error(`${index} is missing, but the folder contains keys`)
  }
  for (let shown = readIndex(index); ; ) {
    try {
      return shown.map((key) => ({ ...key, pem: readKey(pemFile(folder, key.kid)) }))
    } catch (error) {
      // Another process may have removed a key after the index was read.
      const now = readIndex(index)
      if (codeOf(error) !== 'ENOENT' || isDeepStrictEqual(now, shown)) throw error
      shown = now
    }
  }
}

function saveKeys(folder: string, keys: readonly StoredKey[], before: readonly StoredKey[]): void {
  const index = indexFile(folder)
  // Written before the first key, so that no process finds a key without an index, even after a crash.
  if (!existsSync(index)) writeIndex(index, [])
  for (const { kid, pem } of keys) if (!existsSync(pemFile(folder, kid))) replaceFile(pemFile(folder, kid), pem)
  writeIndex(index, keys)
  const removed = before.filter(({ kid }) => !keys.some((key) => key.kid === kid))
  for (const { kid } of removed) rmSync(pemFile(folder, kid), { force: true })
}

function writeIndex(file: string, keys: readonly StoredKey[]): void {
  const shown = keys.map(({ pem: _pem, ...rest }) => rest)
  replaceFile(file, `${JSON.stringify({ keys: shown }, null, 2)}\n`)
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
