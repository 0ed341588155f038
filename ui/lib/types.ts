// The types of the answers of the admin API, from its own schemas.
import type { z } from 'zod'
import type * as activity from '../../src/admin/answers/activity.ts'
import type * as answers from '../../src/admin/answers/answers.ts'
import type * as ofClients from '../../src/admin/answers/client_answers.ts'
import type * as connect from '../../src/admin/answers/connect.ts'
import type * as events from '../../src/admin/answers/events.ts'
import type * as federation from '../../src/admin/answers/federation.ts'
import type { found, names } from '../../src/admin/answers/found.ts'
import type * as incidents from '../../src/admin/answers/incidents.ts'
import type * as instances from '../../src/admin/answers/instances.ts'
import type * as jobs from '../../src/admin/answers/jobs.ts'
import type * as limits from '../../src/admin/answers/limits.ts'
import type * as people from '../../src/admin/answers/people.ts'
import type * as service from '../../src/admin/answers/service.ts'
import type { Actor } from '../../src/records/issuance.ts'

export type ClientAnswer = z.output<typeof answers.client>
export type ClientWithSecrets = z.output<typeof answers.clientWithSecrets>
export type NewSecret = z.output<typeof answers.newSecretAnswer>
export type NewClientAnswer = z.output<typeof answers.newClientAnswer>
export type FetchedDocument = z.output<typeof ofClients.fetchedDocument>
export type ClientRequestAnswer = z.output<typeof ofClients.clientRequest>
export type ApprovalAnswer = z.output<typeof ofClients.approval>
export type RefreshedDocument = z.output<typeof ofClients.refreshedDocument>
export type UserAnswer = z.output<typeof answers.user>
export type UserInFull = z.output<typeof people.userInFull>
export type AccessOfUser = z.output<typeof people.accessOfUser>
export type GroupAnswer = z.output<typeof people.group>
export type PasswordLinkAnswer = z.output<typeof people.passwordLinkAnswer>
export type SessionAnswer = z.output<typeof people.userSession>
export type StreamAnswer = z.output<typeof events.stream>
export type WebhookAnswer = z.output<typeof events.webhook>
export type TestedWebhook = z.output<typeof events.testedWebhook>
export type PayloadAnswer = z.output<typeof events.payload>
export type NewWebhookAnswer = z.output<typeof events.newWebhook>
export type WebhookSecret = z.output<typeof events.webhookSecret>
export type DeletedAnswer = z.output<typeof people.deletedRecord>
export type LockoutAnswer = z.output<typeof people.lockout>
export type Grants = z.output<typeof answers.grantsOfUser>
export type Discovered = z.output<typeof connect.discovered>
export type TriedSignIn = z.output<typeof connect.triedSignIn>
export type ResourceAnswer = z.output<typeof answers.resource>
export type Provider = z.output<typeof answers.provider>
export type Link = z.output<typeof answers.link>
export type IdpAnswer = z.output<typeof federation.idp>
export type XaaPolicyAnswer = z.output<typeof federation.xaaPolicy>
export type Mapping = z.output<typeof federation.mapping>
export type IssuanceAnswer = z.output<typeof answers.issuance>
export type IssuanceDetail = Omit<z.output<typeof answers.issuanceDetail>, 'act'> & { act?: Actor }
export type RevokedAnswer = z.output<typeof answers.revoked>
export type AuditEventAnswer = z.output<typeof answers.auditEvent>
export type ClientActivityAnswer = z.output<typeof activity.trail>
export type BusyClientAnswer = z.output<typeof activity.busyClient>
export type HistoryAnswer = z.output<typeof activity.history>
export type ClientFailureAnswer = z.output<typeof activity.failure>
export type InstanceAnswer = z.output<typeof instances.instance>
export type JobAnswer = z.output<typeof jobs.job>
export type ApiKeyAnswer = z.output<typeof service.apiKey>
export type NewApiKeyAnswer = z.output<typeof service.newApiKeyAnswer>
export type Keys = z.output<typeof service.keysAnswer>
export type RevokedKey = z.output<typeof service.revokedKey>
export type Status = z.output<typeof service.systemStatus>
export type Waste = z.output<typeof limits.wasteAnswer>
export type FindAnswer = z.output<typeof found>
export type NamesAnswer = z.output<typeof names>
export type IncidentAnswer = z.output<typeof incidents.incident>
export type Stats = z.output<typeof service.stats>
export type SeriesAnswer = z.output<typeof service.series>
export type DcrMode = z.output<typeof service.dcrMode>['mode']
export type Minted = z.output<typeof service.triedToken>
export type Checked = z.output<typeof service.checkedAssertion>
export type Explained = z.output<typeof service.explained>
export type Decoded = z.output<typeof service.examined>
