// A key of the transit engine: its type, and the versions that may still be used.
import { createPublicKey } from 'node:crypto'
import type { Alg, Jwk } from '../../records/jwk.ts'
import type { MayMakeFirst } from '../key_source.ts'
import type { TransitJson } from './answer.ts'
import type { TransitClient } from './client.ts'
import { pathOf } from './lease.ts'

export interface TransitKey {
  type: string
  derived: boolean
  latest: number
  /** 0 means no bound besides the existing versions. */
  min_encryption_version: number
  /** `keys` of the answer: objects by version for asymmetric keys. */
  keys: TransitJson
}
export interface Version {
  version: number
  jwk: Jwk
  /** Epoch seconds. */
  created_at: number
}

/** Reads a key. A missing key is created with `type` if that is allowed. Rejects as the client and `mayMake` do. */
export async function ensureKey(
  client: TransitClient,
  { mount, name, type, mayMake }: { mount: string; name: string; type: string; mayMake: MayMakeFirst },
): Promise<TransitKey | undefined> {
  const found = await readKey(client, mount, name)
  if (found || !(await mayMake())) return found
  // Another instance may create it at the same time: the engine keeps the existing key.
  await client.call('POST', pathOf(mount, 'keys', name), { type })
  const made = await readKey(client, mount, name)
  if (!made)
    throw new Error(`the key ${name} does not exist after it was created: is the transit engine mounted at ${mount}?`)
  return made
}

/** Reads a key. Undefined when it does not exist. Rejects as the client does. */
export async function readKey(client: TransitClient, mount: string, name: string): Promise<TransitKey | undefined> {
  const data = await client.call('GET', pathOf(mount, 'keys', name))
  if (!data) return undefined
  const { type, derived, latest_version, min_encryption_version, keys } = data
  if (typeof type !== 'string' || typeof keys !== 'object' || keys === null)
    throw new Error(`${pathOf(mount, 'keys', name)}: this is not a key of a transit engine`)
  const latest = Number(latest_version ?? Math.max(...Object.keys(keys).map(Number)))
  return {
    type,
    derived: derived === true,
    latest,
    min_encryption_version: Number(min_encryption_version ?? 0),
    keys: keys as TransitJson,
  }
}

const TYPES: Record<'ES256' | 'RS256', readonly string[]> = {
  ES256: ['ecdsa-p256'],
  RS256: ['rsa-2048', 'rsa-3072', 'rsa-4096'],
}
/** The type of a new key for an algorithm. */
export const keyType = (alg: Alg): string => TYPES[alg as 'ES256' | 'RS256'][0] as string

/** The versions of a signing key, oldest first. Throws when the key is not one for `alg`. */
export function versionsOf(name: string, { type, keys }: TransitKey, alg: Alg): Version[] {
  const fitting = TYPES[alg as 'ES256' | 'RS256']
  if (!fitting.includes(type))
    throw new Error(
      `the key ${name} is of type ${type}, but signing.algorithm ${alg} needs ${fitting.join(' or ')}: name another key`,
    )
  return Object.entries(keys)
    .map(([version, entry]) => versionOf(Number(version), entry as TransitJson))
    .sort((a, b) => a.version - b.version)
}

function versionOf(version: number, { public_key, creation_time }: TransitJson): Version {
  const jwk = createPublicKey(String(public_key)).export({ format: 'jwk' }) as Jwk
  const created_at = Math.floor(Date.parse(String(creation_time)) / 1000)
  if (!Number.isSafeInteger(created_at)) throw new Error(`version ${version} of the key has no time of creation`)
  return { version, jwk, created_at }
}
