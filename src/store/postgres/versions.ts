// The versions that every write of cached data increments, and what a new version invalidates here.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Drop, Invalidation } from '../cache.ts'

/** Notifications of changes that a result shows arrive right after the result. */
const NOTIFIED_MS = 20

interface Version {
  name: string
  version: number
}
/** What a notification adds to a version: whether this instance wrote it, and what it invalidates. */
interface Notice {
  ours: boolean
  detail: string
}

/** The last known versions. */
export class KnownVersions {
  private readonly known = new Map<string, number>()
  private readonly onInvalidation: (about?: Invalidation) => void
  private readonly onWentBack: () => void

  /** `onWentBack` is called when a version is lower than it was. */
  constructor(onInvalidation: (about?: Invalidation) => void, onWentBack: () => void) {
    this.onInvalidation = onInvalidation
    this.onWentBack = onWentBack
  }

  /** The versions that are known now. A query that begins now reads no lower ones, unless the database went back. */
  now(): ReadonlyMap<string, number> {
    return new Map(this.known)
  }

  /** Starts with the versions of a new connection, and with those that were known before it was asked. It may be another server, or an earlier state of the same server. */
  reset(versions: readonly Version[], asked: ReadonlyMap<string, number>): void {
    const isLower = ({ name, version }: Version) => version < (asked.get(name) ?? 0)
    if (versions.some(isLower)) this.onWentBack()
    const read = versions.map((each) => (this.isOutdated(each, asked) ? this.known.get(each.name) : each.version))
    this.known.clear()
    for (const [i, { name, version }] of versions.entries()) this.known.set(name, read[i] ?? version)
  }

  /** Whether a notification brought a later version while the query was answered. Notifications may be handled before an answer that arrived with them. */
  private isOutdated({ name, version }: Version, asked: ReadonlyMap<string, number>): boolean {
    return version >= (asked.get(name) ?? 0) && version < (this.known.get(name) ?? 0)
  }

  /**
   * Compares a version with the last one. Every difference is reported. A version is lower after a restored backup or a failover that
   * lost commits; then nothing that was read before is valid.
   */
  receive({ name, version }: Version, notice?: Notice): void {
    const before = this.known.get(name)
    if (version === before) return
    this.known.set(name, version)
    const kind = name.startsWith('keys') ? 'keys' : 'records'
    if (before !== undefined && version < before) this.onWentBack()
    if (before === undefined || version < before) this.onInvalidation()
    else if (!notice || version !== before + 1) this.onInvalidation(kind)
    else if (!notice.ours) this.onInvalidation(kind === 'keys' ? kind : dropsIn(notice.detail))
  }

  /** Compares all versions with the known ones; `asked` are those that were known before the query. A notification contains what changed, and a version shows only that something changed, so notifications are awaited first. */
  async compare(versions: readonly Version[], asked: ReadonlyMap<string, number>, notified: boolean): Promise<void> {
    const different = versions
      .filter((each) => !this.isOutdated(each, asked))
      .map((each) => ({ ...each, before: this.known.get(each.name) }))
      .filter(({ version, before }) => version !== before)
    if (different.length === 0) return
    if (notified) await sleep(NOTIFIED_MS)
    for (const { name, version, before } of different)
      if (this.known.get(name) === before) this.receive({ name, version })
  }
}

/** The invalidation in a notification; everything if it contains none. */
function dropsIn(detail: string): readonly Drop[] | 'records' {
  try {
    const drops: unknown = JSON.parse(detail)
    return Array.isArray(drops) ? drops : 'records'
  } catch {
    return 'records'
  }
}
