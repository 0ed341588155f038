// The table of the reads that are cached on the front thread, and of the writes that invalidate them.
import { Cache, type Caches } from '../lib/cache.ts'
import { Lru } from '../lib/lru.ts'
import { MB } from '../lib/memory.ts'
import type { Client } from '../records/client.ts'
import type { InputOf, Operations, OpName } from './operations.ts'
import { KEY_REVOCATION } from './tokens/key_revocations.ts'

/** Longer than an issuer and a subject, the longest names together: an indexed text has at most 2048 bytes. */
const MAX_KEY = 4096

interface CachedRead {
  max: number
  /** Maximum bytes of its entries. */
  bytes: number
  /** See CacheBounds. */
  apart?(record: object | string): boolean
  /** Default: the whole input. */
  key?(input: never): string
  /** A smaller copy, which is cached in place of the record. */
  compact?(record: object): object
  /** Writes that invalidate entries. A function returns the key of the entry, `null` for every entry, or undefined for none. */
  dropBy: Partial<Record<OpName, (input: never) => string | null | undefined>>
}
/**
 * The same record from its JSON. A record that another thread sent has room for further members, and has its own copy of each short text;
 * the parser shares short texts and makes objects that are exactly as large as they must be. A client with a key takes half.
 */
function compact(record: object): object {
  const copy = JSON.parse(JSON.stringify(record)) as Record<string, unknown>
  for (const [name, value] of Object.entries(copy))
    if (Array.isArray(value)) copy[name] = lists.memo(JSON.stringify(value), () => Object.freeze(value))
  return copy
}
/** Lists that many records have, such as grant types. Records with the same list share it. */
const lists = new Lru<object>({ max: 1000, bytes: MB })
/** A client that registered itself and never got a token. */
const isUnusedRegistration = ({ registration_source, last_used_at }: Client) =>
  registration_source === 'dcr' && last_used_at === undefined
const everything = () => null
const everythingIfFederated = (client: InputOf<'updateClient'>) => (client.federated_credentials ? null : undefined)
/** Several writes that invalidate the same entries. */
const by = (dropped: (input: never) => string | null | undefined, ...ops: OpName[]): CachedRead['dropBy'] =>
  Object.fromEntries(ops.map((op) => [op, dropped]))
const idOfClient = (input: { client_id: string }) => input.client_id
const RESOURCE_WRITES = {
  ...by(everything, 'createResource', 'updateResource', 'deleteResource', 'restoreResource'),
  // A resource contains the slug of its provider, and ids of clients and users.
  ...by(everything, 'updateProvider', 'deleteClient', 'deleteUser', 'deleteScimUser'),
}
const linkKey = ({ source_slug, target_slug }: InputOf<'findFrontingLink'>) => `${source_slug} ${target_slug}`
const writtenLinkKey = ({ link }: { link: InputOf<'findFrontingLink'> }) => linkKey(link)
const mappingKey = ({ idp_id, federated_subject }: InputOf<'findSubjectMapping'>) => `${idp_id} ${federated_subject}`
const subjectKey = ({ issuer, sub }: InputOf<'findSubjectUser'>) => `${issuer} ${sub}`

const CACHED: Partial<Record<OpName, CachedRead>> = {
  findClient: {
    max: 25_000,
    bytes: 24 * MB,
    apart: (record) => isUnusedRegistration(record as Client),
    compact,
    key: idOfClient,
    dropBy: {
      ...by(idOfClient, 'createClient', 'updateClient', 'touchClient', 'noteDocument', 'touchSecret', 'deleteClient'),
      restoreClient: ({ client }: InputOf<'restoreClient'>) => client.client_id,
      reapClients: everything,
      // Clients contain the URI of their default resource.
      updateResource: ({ uri_before }: InputOf<'updateResource'>) => (uri_before === undefined ? undefined : null),
    },
  },
  findFederatedClients: {
    max: 10_000,
    bytes: 4 * MB,
    dropBy: {
      ...by(everythingIfFederated, 'createClient', 'updateClient'),
      ...by(everything, 'deleteClient', 'restoreClient'),
    },
  },
  findPerson: {
    max: 10_000,
    bytes: 8 * MB,
    // A changed user has another version, so no write needs to drop the entry.
    key: ({ id, version }: InputOf<'findPerson'>) => `${id} ${version}`,
    dropBy: {},
  },
  findResource: {
    max: 10_000,
    bytes: 8 * MB,
    key: (input: InputOf<'findResource'>) => input.uri,
    dropBy: RESOURCE_WRITES,
  },
  listResources: {
    max: 100,
    bytes: 16 * MB,
    dropBy: RESOURCE_WRITES,
  },
  findProvider: {
    max: 1000,
    bytes: 4 * MB,
    key: (input: InputOf<'findProvider'>) => input.name,
    dropBy: by(everything, 'createProvider', 'updateProvider', 'deleteProvider'),
  },
  findFrontingLink: {
    max: 10_000,
    bytes: 4 * MB,
    key: linkKey,
    dropBy: {
      ...by(writtenLinkKey, 'createFrontingLink', 'updateFrontingLink'),
      deleteFrontingLink: linkKey,
      deleteResource: everything,
    },
  },
  findSetting: {
    max: 100,
    bytes: MB,
    key: (input: InputOf<'findSetting'>) => input.name,
    dropBy: {
      ...by((input: InputOf<'saveSetting'>) => input.name, 'saveSetting', 'raiseSetting'),
      recordKeyRevocation: () => KEY_REVOCATION,
    },
  },
  findIdpByIssuer: {
    max: 1000,
    bytes: 2 * MB,
    key: (input: InputOf<'findIdpByIssuer'>) => input.issuer,
    dropBy: {
      ...by((input: InputOf<'createIdp'>) => input.issuer, 'createIdp', 'updateIdp'),
      deleteIdp: everything,
    },
  },
  listPolicies: {
    max: 1000,
    bytes: 8 * MB,
    key: (input: InputOf<'listPolicies'>) => input.idp_id ?? '',
    dropBy: by(everything, 'createPolicy', 'updatePolicy', 'deletePolicy', 'deleteIdp'),
  },
  listReceivers: {
    max: 4,
    bytes: 4 * MB,
    key: (input: InputOf<'listReceivers'>) => input.kind ?? '',
    dropBy: by(everything, 'createReceiver', 'updateReceiver', 'deleteReceiver', 'deleteClient'),
  },
  findSubjectMapping: {
    // Without mappings of single subjects, nearly every result is absent. Absent results may use an eighth of this capacity.
    max: 100_000,
    bytes: 16 * MB,
    key: mappingKey,
    dropBy: { createSubjectMapping: mappingKey, deleteSubjectMapping: everything, deleteIdp: everything },
  },
  findSubjectUser: {
    max: 100_000,
    bytes: 16 * MB,
    key: subjectKey,
    dropBy: {
      saveFederatedUser: ({ user }: InputOf<'saveFederatedUser'>) =>
        subjectKey({ issuer: user.provider_issuer ?? '', sub: user.provider_sub ?? '' }),
      // An operator may link a user to another subject.
      ...by(everything, 'updateUser', 'deleteUser', 'createScimUser', 'updateScimUser', 'deleteScimUser'),
    },
  },
}

/**
 * Maximum number of milliseconds until a change of one instance is in force at every other instance: the bound that
 * docs/operate/postgres.md states for suspensions, settings, policies and signing keys.
 */
export const STALE_MS = 2000

/** One entry of the cache of a read. `null` is the whole cache. */
export type Drop = readonly [read: string, key: string | null]
/** The data that other processes must read again: the signing keys, all records, or the entries that one write changed. */
export type Invalidation = 'keys' | 'records' | readonly Drop[]

/** Writes that store only a time of last use. Other threads and instances are not notified: each reads the time again after its own write. */
const USES: readonly OpName[] = ['touchClient', 'touchSecret']

/** The data that other processes must read again after a write. */
export function invalidationOf(op: OpName, input: unknown): Invalidation | undefined {
  if (op === 'recordChange') return invalidationOf(...changeIn(input))
  if (op === 'saveSigningKeys' || op === 'saveIdTokenKeys' || op === 'announceKeys') return 'keys'
  const drops = USES.includes(op) ? [] : dropsOf(op, input)
  return drops.length > 0 ? drops : undefined
}

/** The operation that is run with its audit event. */
function changeIn(input: unknown): [op: OpName, input: unknown] {
  const { op, input: inner } = input as InputOf<'recordChange'>
  return [op, inner]
}

function dropsOf(op: OpName, input: unknown): Drop[] {
  if (op === 'recordChange') return dropsOf(...changeIn(input))
  return Object.entries(CACHED).flatMap(([read, { dropBy }]) => {
    const key = dropBy[op]?.(input as never)
    return key === undefined ? [] : [[read, key]]
  })
}

type Call = (op: OpName, input: unknown) => Promise<unknown>

export type StoreCaches = Caches<'hits' | 'misses' | 'version' | 'peek'>

/** Called after a write that other threads may have cached. The caller of the write is answered when it resolves. */
export type Wrote = (op: OpName, input: unknown) => Promise<unknown> | undefined

/** Wraps every operation: cached reads look into the cache first, and writes drop what they change, before and after the commit. */
export function cached(names: readonly OpName[], call: Call, wrote: Wrote = () => undefined) {
  const { caches, drop, dropCaches } = createCaches()

  const operation = (name: OpName) => {
    const cache = caches.get(name)
    const rule = CACHED[name]
    if (cache && rule) {
      const load = async (input: never) => {
        const found = (await call(name, input)) as object | string | undefined
        return rule.compact && typeof found === 'object' ? rule.compact(found) : found
      }
      const keyOf = rule.key ?? JSON.stringify
      return async (input: never) => {
        const key = keyOf(input)
        // Nothing with so long a name can be stored.
        if (key.length > MAX_KEY && name.startsWith('find')) return undefined
        return cache.get(key, () => load(input))
      }
    }
    if (name !== 'recordChange' && !Object.values(CACHED).some(({ dropBy }) => name in dropBy))
      return (input: unknown) => call(name, input)
    return async (input: never) => {
      const drops = dropsOf(name, input)
      drop(drops)
      try {
        return await call(name, input)
      } finally {
        drop(drops)
        if (invalidationOf(name, input)) await wrote(name, input)
      }
    }
  }

  return {
    operations: Object.fromEntries(names.map((name) => [name, operation(name)])) as Operations,
    caches: Object.fromEntries(caches) as StoreCaches,
    dropCaches,
    /** Drops the entries that a write of another thread changed. */
    forget: (op: OpName, input: unknown): void => drop(dropsOf(op, input)),
    /** Drops the entries that another process changed. */
    invalidate(invalidation: Invalidation | undefined): void {
      if (invalidation === undefined || invalidation === 'records') dropCaches()
      else if (invalidation !== 'keys') drop(invalidation)
    },
  }
}

/** A cache for each cached read. */
function createCaches() {
  const caches = new Map<OpName, Cache<object | string>>()
  for (const [name, bounds] of Object.entries(CACHED) as [OpName, CachedRead][]) caches.set(name, new Cache(bounds))
  const dropCaches = (): void => {
    for (const cache of caches.values()) cache.clear()
  }
  const drop = (drops: readonly Drop[]): void => {
    for (const [read, key] of drops) {
      const cache = caches.get(read as OpName)
      // A newer version may have caches that this version does not have.
      if (!cache) dropCaches()
      else if (key === null) cache.clear()
      else cache.drop(key)
    }
  }
  return { caches, drop, dropCaches }
}
