// The admin operations by resource, in the order of the reference. REST, command line and docs are read from this list.
import type { Action, AdminResource } from './action.ts'
import { apiKeys } from './api_keys.ts'
import { auditTrail } from './audit.ts'
import { clientSecrets } from './client_secrets.ts'
import { clients } from './clients.ts'
import { configResource } from './configuration.ts'
import { connections } from './connections.ts'
import { tryExplain } from './explain.ts'
import { frontingLinks } from './fronting.ts'
import { consentGrants } from './grants.ts'
import { groups } from './groups.ts'
import { idps } from './idps.ts'
import { issuances } from './issuances.ts'
import { lockouts } from './lockouts.ts'
import { apiDocument } from './openapi.ts'
import { providers } from './providers.ts'
import { resourcePolicies } from './resource_policies.ts'
import { resources } from './resources.ts'
import { revocations } from './revocations.ts'
import { streams } from './streams.ts'
import { subjectMappings } from './subject_mappings.ts'
import { dcr, keys, system } from './system.ts'
import { tries } from './try.ts'
import { tryIdJag } from './try_id_jag.ts'
import { userSessions } from './user_sessions.ts'
import { users } from './users.ts'
import { statistics } from './waste.ts'
import { webhooks } from './webhooks.ts'
import { xaaPolicies } from './xaa_policies.ts'

export const adminResources: readonly AdminResource[] = [
  clients,
  clientSecrets,
  users,
  userSessions,
  groups,
  lockouts,
  resources,
  ...resourcePolicies,
  providers,
  frontingLinks,
  consentGrants,
  issuances,
  revocations,
  auditTrail,
  webhooks,
  streams,
  connections,
  idps,
  xaaPolicies,
  subjectMappings,
  keys,
  apiKeys,
  dcr,
  configResource,
  system,
  statistics,
  tries,
  tryExplain,
  tryIdJag,
  apiDocument(() => adminResources),
]

/** Finds an operation by the names of its resource and its own. Returns undefined when it does not exist. */
export const findAction = (resource: string, word: string): Action | undefined =>
  adminResources.find(({ name }) => name === resource)?.actions[word]

/** Finds an operation that must exist. */
export function actionNamed(resource: string, word: string): Action {
  const action = findAction(resource, word)
  if (!action) throw new Error(`there is no operation ${resource} ${word}`)
  return action
}
