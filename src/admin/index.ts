// The admin operations by resource, in the order of the reference. REST, command line and docs are read from this list.
import type { Action, AdminResource } from './action.ts'
import { activityHistory } from './activity/history.ts'
import { apiKeys } from './api_keys.ts'
import { auditTrail } from './audit.ts'
import { clientRequests } from './clients/client_requests.ts'
import { clientSecrets } from './clients/client_secrets.ts'
import { clients } from './clients/clients.ts'
import { connections } from './clients/connections.ts'
import { statistics } from './clients/token_waste.ts'
import { configResource } from './configuration.ts'
import { diagnosis } from './doctor.ts'
import { tryExplain } from './explain/explain.ts'
import { tries } from './explain/try.ts'
import { tryIdJag } from './explain/try_id_jag.ts'
import { trySignIn } from './explain/try_sign_in.ts'
import { finding } from './find.ts'
import { incidents } from './incidents/incidents.ts'
import { instances } from './instances.ts'
import { issuances } from './issuances.ts'
import { jobs } from './jobs.ts'
import { apiDocument } from './openapi.ts'
import { approvals } from './people/approvals.ts'
import { consentGrants } from './people/grants.ts'
import { groups } from './people/groups.ts'
import { lockouts } from './people/lockouts.ts'
import { userSessions } from './people/user_sessions.ts'
import { users } from './people/users.ts'
import { deletedRecords } from './resources/deleted.ts'
import { frontingLinks } from './resources/fronting.ts'
import { idps } from './resources/idps.ts'
import { providers } from './resources/providers.ts'
import { resourcePolicies } from './resources/resource_policies.ts'
import { resources } from './resources/resources.ts'
import { subjectMappings } from './resources/subject_mappings.ts'
import { xaaPolicies } from './resources/xaa_policies.ts'
import { revocations } from './revocations.ts'
import { streams } from './streams.ts'
import { dcr, keys, system } from './system.ts'
import { webhooks } from './webhooks.ts'

export const adminResources: readonly AdminResource[] = [
  clients,
  clientSecrets,
  clientRequests,
  users,
  userSessions,
  groups,
  lockouts,
  resources,
  ...resourcePolicies,
  deletedRecords,
  providers,
  frontingLinks,
  consentGrants,
  approvals,
  issuances,
  revocations,
  incidents,
  auditTrail,
  webhooks,
  streams,
  connections,
  activityHistory,
  idps,
  xaaPolicies,
  subjectMappings,
  keys,
  apiKeys,
  dcr,
  configResource,
  system,
  instances,
  jobs,
  statistics,
  tries,
  tryExplain,
  tryIdJag,
  trySignIn,
  finding,
  diagnosis,
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
