// Warnings about settings, from the activity of clients: requests that were refused, or answered with an unusable token.
import { type Finding, warn } from '../finding.ts'

/** The steps of one client, as the admin API shows them. */
export interface ClientTrail {
  client_id: string
  steps: { step: string; detail?: string; reason?: string }[]
}

/** The suggested correction, by the reason of a step. */
const FIXES: Readonly<Record<string, (client_id: string) => string>> = {
  missing_scope: () =>
    'list scopes_supported in the metadata of the resource server, or set oauth.require_scope: false',
  cimd_blocked_address: () => 'if its document is in your network, add the host to cimd.allow_hosts',
  jwks_blocked_address: () =>
    'if its keys are in your network, add the host to cimd.allow_hosts, or to xaa.allow_hosts for workload identities',
  root_slash: () => 'set oauth.match_root_slash: true',
  no_resource_named: (client_id) =>
    `\`service admin client update --id ${client_id} --default-resource URI\`, or have it send resource`,
}

/** A warning for each client whose last step of a kind has a reason that a setting changes. */
export function clientFindings(trails: readonly ClientTrail[]): Finding[] {
  const found = new Map<string, Finding>()
  for (const { client_id, steps } of trails)
    for (const { reason = '', detail = reason } of lastOfEach(steps)) {
      const fix = FIXES[reason]?.(client_id)
      if (fix) found.set(`${client_id} ${reason}`, warn(`client ${client_id}`, detail, fix))
    }
  return [...found.values()]
}

const lastOfEach = (steps: ClientTrail['steps']) => [...new Map(steps.map((each) => [each.step, each])).values()]
