// Holds the audit trail of a test against what is declared of it.
import type { App } from '../../src/context.ts'
import { AUDIT_EVENTS } from '../../src/oauth/audit_events.ts'

/** The members of recorded details that no declaration has, as `action.member`. Nothing where the storage is gone. */
export async function undeclaredDetails({ store }: App): Promise<string[]> {
  if (!store.driver.isHealthy()) return []
  const events = await store.listAudit({ since: '', limit: 10_000, offset: 0 }).catch(() => [])
  const declared: Readonly<Record<string, { detail: readonly string[] }>> = AUDIT_EVENTS
  return events.flatMap(({ action, detail }) =>
    Object.keys(detail)
      .filter((member) => !declared[action]?.detail.includes(member))
      .map((member) => `${action}.${member}`),
  )
}
