// A warning in the answer for a record whose host requests must not reach: it names the key that allows the host.
import type { App } from '../context.ts'
import { addressRules, type OutboundPart, resolvedFault } from '../net/address_rules.ts'

/** The URLs of a record, each with the part whose requests go to it. */
type Called = readonly (readonly [OutboundPart, string | undefined])[]

/** An answer, with a `warning` when requests must not reach the host of one of the URLs. */
export async function withHostWarning<S extends object>(
  { config }: App,
  shown: S,
  called: Called,
): Promise<S & { warning?: string }> {
  const faults = await Promise.all(
    called.map(([part, url]) => (url === undefined ? undefined : resolvedFault(url, addressRules(config, part)))),
  )
  const warnings = faults.flatMap((fault) => (fault ? [`${fault.host} cannot be reached: ${fault.detail}`] : []))
  return warnings.length > 0 ? { ...shown, warning: [...new Set(warnings)].join('; ') } : shown
}
