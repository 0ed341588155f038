// Compares the audit trail of a test with the declared events.
import type { App } from '../../src/context.ts'
import { COMMON_DETAIL } from '../../src/oauth/audit_details.ts'
import { AUDIT_EVENTS } from '../../src/oauth/audit_events.ts'

const COMMON: readonly string[] = COMMON_DETAIL

/** The members of recorded details that are not declared, as `action.member`. Empty if the storage is unavailable. */
export async function undeclaredDetails({ store }: App): Promise<string[]> {
  if (!store.driver.isHealthy()) return []
  const events = await store.listAudit({ since: '', limit: 10_000, offset: 0 }).catch(() => [])
  const declared: Readonly<Record<string, { detail: readonly string[] }>> = AUDIT_EVENTS
  return events.flatMap(({ action, detail }) =>
    Object.keys(detail)
      .filter((member) => !COMMON.includes(member) && !declared[action]?.detail.includes(member))
      .map((member) => `${action}.${member}`),
  )
}
