// A warning in the answer for a record whose host requests must not reach: it names the key that allows the host.
import type { App } from '../context.ts'
import { addressRules, type OutboundPart, resolvedFault } from '../net/address_rules.ts'

/** The URLs of a record, each with the part whose requests go to it. */
type Called = readonly (readonly [OutboundPart, string | undefined])[]

type FaultOf = (part: OutboundPart, url: string) => ReturnType<typeof resolvedFault>

const faultsIn =
  ({ config }: App): FaultOf =>
  (part, url) =>
    resolvedFault(url, addressRules(config, part))

/** The same, for the records of one list: each host is looked up once. */
export function sharedFaultsIn(app: App): FaultOf {
  const [faultOf, known] = [faultsIn(app), new Map<string, ReturnType<FaultOf>>()]
  return (part, url) => {
    const key = `${part} ${URL.canParse(url) ? new URL(url).origin : url}`
    const fault = known.get(key) ?? faultOf(part, url)
    known.set(key, fault)
    return fault
  }
}

/** An answer, with a `warning` when requests must not reach the host of one of the URLs. */
export async function withHostWarning<S extends object>(
  app: App,
  shown: S,
  called: Called,
  faultOf = faultsIn(app),
): Promise<S & { warning?: string }> {
  const faults = await Promise.all(called.map(([part, url]) => (url === undefined ? undefined : faultOf(part, url))))
  const warnings = faults.flatMap((fault) => (fault ? [`${fault.host} cannot be reached: ${fault.detail}`] : []))
  return warnings.length > 0 ? { ...shown, warning: [...new Set(warnings)].join('; ') } : shown
}
