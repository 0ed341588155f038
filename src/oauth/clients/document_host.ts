// Which hosts may publish the documents of clients: cimd.allowed_hosts and cimd.blocked_hosts.
import type { App } from '../../context.ts'
import { hostRules } from '../../lib/host_rule.ts'
import { parseHttpUrl } from '../../lib/url.ts'

/** The reason of a refusal. */
export const HOST_REFUSED = 'client_host_not_allowed'

/** Whether cimd.allowed_hosts and cimd.blocked_hosts admit the host of a document. */
export function isHostAllowed({ config }: Pick<App, 'config'>, client_id: string): boolean {
  const { allowed_hosts, blocked_hosts } = config.cimd
  if (allowed_hosts.length === 0 && blocked_hosts.length === 0) return true
  const { hostname = '' } = parseHttpUrl(client_id) ?? {}
  const isAllowed = allowed_hosts.length === 0 || hostRules(allowed_hosts).names(hostname)
  return isAllowed && !hostRules(blocked_hosts).names(hostname)
}
