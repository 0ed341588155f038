// The table of the reads that are cached on the front thread, and of the writes that invalidate them.
import { Cache } from '../lib/cache.ts'
import { Lru } from '../lib/lru.ts'
import type { Trace } from '../telemetry/trace.ts'
import { KEY_REVOCATION } from './key_revocations.ts'
import type { InputOf, Operations, OpName } from './operations.ts'

interface CachedRead {
  max: number
  key(input: never): string
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
const lists = new Lru<object>(1000)
const everything = () => null
const everythingIfFederated = (client: InputOf<'updateClient'>) => (client.federated_credentials ? null : undefined)
const RESOURCE_WRITES = {
  createResource: everything,
  updateResource: everything,
  deleteResource: everything,
  // A resource contains the slug of its provider, and ids of clients and users.
  updateProvider: everything,
  deleteClient: everything,
  deleteUser: everything,
}
const linkKey = ({ source_slug, target_slug }: InputOf<'findFrontingLink'>) => `${source_slug} ${target_slug}`
const writtenLinkKey = ({ link }: { link: InputOf<'findFrontingLink'> }) => linkKey(link)
const mappingKey = ({ idp_id, federated_subject }: InputOf<'findSubjectMapping'>) => `${idp_id} ${federated_subject}`

const subjectKey = ({ issuer, sub }: InputOf<'findSubjectUser'>) => `${issuer} ${sub}`

const CACHED: Partial<Record<OpName, CachedRead>> = {
  findClient: {
    max: 25_000,
    compact,
    key: (input: InputOf<'findClient'>) => input.client_id,
    dropBy: {
      createClient: (input: InputOf<'createClient'>) => input.client_id,
      updateClient: (input: InputOf<'updateClient'>) => input.client_id,
      touchClient: (input: InputOf<'touchClient'>) => input.client_id,
      touchSecret: (input: InputOf<'touchSecret'>) => input.client_id,
      deleteClient: (input: InputOf<'deleteClient'>) => input.client_id,
      reapClients: everything,
      // Clients contain the URI of their default resource.
      updateResource: ({ uri_before }: InputOf<'updateResource'>) => (uri_before === undefined ? undefined : null),
    },
  },
  findFederatedClients: {
    max: 10_000,
    key: (input: InputOf<'findFederatedClients'>) => JSON.stringify(input),
    dropBy: {
      createClient: everythingIfFederated,
      updateClient: everythingIfFederated,
      deleteClient: everything,
    },
  },
  findPerson: {
    max: 10_000,
    // A changed user has another version, so no write needs to drop the entry.
    key: ({ id, version }: InputOf<'findPerson'>) => `${id} ${version}`,
    dropBy: {},
  },
  findResource: {
    max: 10_000,
    key: (input: InputOf<'findResource'>) => input.uri,
    dropBy: RESOURCE_WRITES,
  },
  listResources: {
    max: 100,
    key: (input: InputOf<'listResources'>) => JSON.stringify(input),
    dropBy: RESOURCE_WRITES,
  },
  findProvider: {
    max: 1000,
    key: (input: InputOf<'findProvider'>) => input.name,
    dropBy: { createProvider: everything, updateProvider: everything, deleteProvider: everything },
  },
  findFrontingLink: {
    max: 10_000,
    key: linkKey,
    dropBy: {
      createFrontingLink: writtenLinkKey,
      updateFrontingLink: writtenLinkKey,
      deleteFrontingLink: linkKey,
      deleteResource: everything,
    },
  },
  findSetting: {
    max: 100,
    key: (input: InputOf<'findSetting'>) => input.name,
    dropBy: { saveSetting: (input: InputOf<'saveSetting'>) => input.name, recordKeyRevocation: () => KEY_REVOCATION },
  },
  findIdpByIssuer: {
    max: 1000,
    key: (input: InputOf<'findIdpByIssuer'>) => input.issuer,
    dropBy: {
      createIdp: (input: InputOf<'createIdp'>) => input.issuer,
      updateIdp: (input: InputOf<'updateIdp'>) => input.issuer,
      deleteIdp: everything,
    },
  },
  listPolicies: {
    max: 1000,
    key: (input: InputOf<'listPolicies'>) => input.idp_id ?? '',
    dropBy: { createPolicy: everything, updatePolicy: everything, deletePolicy: everything, deleteIdp: everything },
  },
  listReceivers: {
    max: 4,
    key: (input: InputOf<'listReceivers'>) => input.kind ?? '',
    dropBy: {
      createReceiver: everything,
      updateReceiver: everything,
      deleteReceiver: everything,
      deleteClient: everything,
    },
  },
  findSubjectMapping: {
    // Without mappings of single subjects, nearly every result is absent. Absent results may use an eighth of this capacity.
    max: 100_000,
    key: mappingKey,
    dropBy: { createSubjectMapping: mappingKey, deleteSubjectMapping: everything, deleteIdp: everything },
  },
  findSubjectUser: {
    max: 100_000,
    key: subjectKey,
    dropBy: {
      saveFederatedUser: ({ user }: InputOf<'saveFederatedUser'>) =>
        subjectKey({ issuer: user.provider_issuer ?? '', sub: user.provider_sub ?? '' }),
      // An operator may link a user to another subject.
      updateUser: everything,
      deleteUser: everything,
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
  if (op === 'saveSigningKeys' || op === 'announceKeys') return 'keys'
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

type Call = (op: OpName, input: unknown, trace?: Trace) => Promise<unknown>

/** An operation, with or without a trace. */
type Traceable = (input: unknown, trace?: Trace) => Promise<unknown>

interface Cached {
  readonly operations: Operations
  /** The same operations, for traced requests. */
  readonly traceable: Readonly<Record<OpName, Traceable>>
  /** Hits and misses of each cached read. */
  readonly caches: CacheStats
  dropCaches(): void
  /** Drops the entries that a write of another thread changed. */
  forget(op: OpName, input: unknown): void
  /** Drops the entries that another process changed. */
  invalidate(invalidation: Invalidation | undefined): void
}
export type CacheStats = Readonly<Record<string, { readonly hits: number; readonly misses: number }>>

/** Called after a write that other threads may have cached. The caller of the write is answered when it resolves. */
export type Wrote = (op: OpName, input: unknown) => Promise<unknown> | undefined

/** Wraps every operation: cached reads look into the cache first, and writes drop what they change, before and after the commit. */
export function cached(names: readonly OpName[], call: Call, wrote: Wrote = () => undefined): Cached {
  const { caches, drop, dropCaches } = createCaches()

  const operation = (name: OpName) => {
    const cache = caches.get(name)
    const rule = CACHED[name]
    if (cache && rule) {
      const load = async (input: never, trace?: Trace) => {
        const found = (await call(name, input, trace)) as object | string | undefined
        return rule.compact && typeof found === 'object' ? rule.compact(found) : found
      }
      return async (input: never, trace?: Trace) => cache.get(rule.key(input), () => load(input, trace))
    }
    if (name !== 'recordChange' && !Object.values(CACHED).some(({ dropBy }) => name in dropBy))
      return (input: unknown, trace?: Trace) => call(name, input, trace)
    return async (input: never, trace?: Trace) => {
      const drops = dropsOf(name, input)
      drop(drops)
      try {
        return await call(name, input, trace)
      } finally {
        drop(drops)
        if (invalidationOf(name, input)) await wrote(name, input)
      }
    }
  }

  const traceable = Object.fromEntries(names.map((name) => [name, operation(name)])) as Cached['traceable']
  // One parameter only, so that an operation can be passed to map().
  const operations = names.map((name) => [name, (input: unknown) => traceable[name](input)])
  return {
    operations: Object.fromEntries(operations) as Operations,
    traceable,
    caches: Object.fromEntries(caches),
    dropCaches,
    forget: (op, input) => drop(dropsOf(op, input)),
    invalidate(invalidation) {
      if (invalidation === undefined || invalidation === 'records') dropCaches()
      else if (invalidation !== 'keys') drop(invalidation)
    },
  }
}

/** A cache for each cached read. */
function createCaches() {
  const caches = new Map<OpName, Cache<object | string>>()
  for (const [name, { max }] of Object.entries(CACHED) as [OpName, CachedRead][]) caches.set(name, new Cache(max))
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
