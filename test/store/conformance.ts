// What every database driver must do, called by a file of a few lines per driver.
import { afterAll, beforeAll, describe } from 'vitest'
import type { Store } from '../../src/store/index.ts'
import { activityRules } from './conformance/activity.ts'
import { adminSessionRules } from './conformance/admin_sessions.ts'
import { apiKeyRules } from './conformance/api_keys.ts'
import { applicationSessionRules } from './conformance/application_sessions.ts'
import { applicationRules } from './conformance/applications.ts'
import { approvalRules } from './conformance/approvals.ts'
import { tokenCountRules } from './conformance/client_token_counts.ts'
import { clientRules } from './conformance/clients.ts'
import { connectionRules } from './conformance/connections.ts'
import { consentRules } from './conformance/consents.ts'
import { deletedRules } from './conformance/deleted.ts'
import { driverRules } from './conformance/driver.ts'
import { eventReceiverRules } from './conformance/event_receivers.ts'
import { exchangeRules, singleUseRules } from './conformance/exchanges.ts'
import { federatedSubjectRules } from './conformance/federated_subjects.ts'
import { federatedUserRules } from './conformance/federated_users.ts'
import { frontingRules } from './conformance/fronting.ts'
import { issuanceRules } from './conformance/issuances.ts'
import { leaseRules } from './conformance/leases.ts'
import { loginFailureRules } from './conformance/login_failures.ts'
import { passwordLinkRules } from './conformance/password_links.ts'
import { deviceRequestRules } from './conformance/polled_requests.ts'
import { rateBucketRules } from './conformance/rate_buckets.ts'
import { recordRules } from './conformance/record.ts'
import { referenceRules } from './conformance/references.ts'
import { resourceRules } from './conformance/resources.ts'
import { retentionRules } from './conformance/retention.ts'
import { revocationRules } from './conformance/revocations.ts'
import { searchRules } from './conformance/search.ts'
import { sessionRules } from './conformance/sessions.ts'
import { signingKeyRules } from './conformance/signing_keys.ts'
import { systemRules } from './conformance/system.ts'
import { tokenRules } from './conformance/tokens.ts'
import { userRules } from './conformance/users.ts'
import { xaaRules } from './conformance/xaa.ts'

export interface Opened {
  store: Store
  /** Another connection to the same database, as a second process would have. */
  again(): Promise<Opened>
  /** Runs SQL on the database: rows as earlier versions wrote them. */
  sql(text: string): Promise<unknown>
  close(): Promise<void>
}
/** Opens a store on an empty, migrated database. */
export type Open = () => Promise<Opened>

/** What the rules of one topic get: a store that all of them share, and a way to one of their own. */
export interface Bench {
  readonly store: Store
  open: Open
}

/** Declares the rules. Tests share a database and tell their rows apart by fresh ids; those that count open their own. */
export function conformance(open: Open): void {
  let shared: Opened
  beforeAll(async () => {
    shared = await open()
  })
  afterAll(() => shared.close())
  const bench: Bench = {
    open,
    get store() {
      return shared.store
    },
  }
  describe('sessions of the admin page', () => adminSessionRules(bench))
  describe('keys of the admin API', () => apiKeyRules(bench))
  describe('clients', () => clientRules(bench))
  describe('subjects of workload tokens', () => federatedSubjectRules(bench))
  describe('leases', () => leaseRules(bench))
  describe('users', () => userRules(bench))
  describe('sessions', () => sessionRules(bench))
  describe('applications of sessions', () => applicationSessionRules(bench))
  describe('users of upstream providers', () => federatedUserRules(bench))
  describe('codes and refresh tokens', () => tokenRules(bench))
  describe('device requests', () => deviceRequestRules(bench))
  describe('approvals', () => approvalRules(bench))
  describe('consents', () => consentRules(bench))
  describe('applications', () => applicationRules(bench))
  describe('issued tokens', () => issuanceRules(bench))
  describe('exchanged tokens', () => exchangeRules(bench))
  describe('single use', () => singleUseRules(bench))
  describe('revocations in bulk', () => revocationRules(bench))
  describe('retention', () => retentionRules(bench))
  describe('issued tokens and audit events', () => recordRules(bench))
  describe('resources', () => resourceRules(bench))
  describe('records that name a deleted one', () => referenceRules(bench))
  describe('deleted clients and resources', () => deletedRules(bench))
  describe('fronting links', () => frontingRules(bench))
  describe('connections', () => connectionRules(bench))
  describe('identity providers', () => xaaRules(bench))
  describe('signing keys', () => signingKeyRules(bench))
  describe('receivers of events', () => eventReceiverRules(bench))
  describe('failed logins', () => loginFailureRules(bench))
  describe('password links', () => passwordLinkRules(bench))
  describe('shared rate limit buckets', () => rateBucketRules(bench))
  describe('tokens of clients with a daily limit', () => tokenCountRules(bench))
  describe('sums of requests and failures of clients', () => activityRules(bench))
  describe('settings', () => systemRules(bench))
  describe('searches', () => searchRules(bench))
  describe('driver', () => driverRules(bench))
}
