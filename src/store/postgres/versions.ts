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

  /** Starts with the versions of a new connection. It may be another server, or an earlier state of the same server. */
  reset(versions: readonly Version[]): void {
    if (versions.some(({ name, version }) => version < (this.known.get(name) ?? 0))) this.onWentBack()
    this.known.clear()
    for (const { name, version } of versions) this.known.set(name, version)
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

  /** Compares all versions. A notification contains what changed, and a version shows only that something changed, so notifications are awaited first. */
  async compare(versions: readonly Version[], notified: boolean): Promise<void> {
    const different = versions
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
