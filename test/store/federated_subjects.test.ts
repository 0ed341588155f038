// The index of subjects of workload tokens in a database with many of them: what one look-up reads.
import { beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { findFederatedClients, indexSubjects } from '../../src/store/clients/federated_subjects.ts'
import { Database } from '../../src/store/database.ts'
import type { Op } from '../../src/store/op.ts'
import { migrateSqlite } from '../../src/store/schema/migrate.ts'
import { runCounted } from '../support/counted_rows.ts'
import { aClient, NOW } from '../support/records.ts'

const issuer = 'https://ci.example.com'
const CLIENTS = 20_000
const db = new Database(':memory:')

const run = <R>(op: Op<R>) => runCounted(db, op)
const find = (subject: string) => run(findFederatedClients({ issuers: [issuer], subject }))

beforeAll(() => {
  migrateSqlite(db, NOW)
  db.transaction(() => {
    for (let i = 0; i < CLIENTS; i++) {
      const subject = i % 2 ? `repo:acme/tool-${i}:environment:*` : `repo:acme/tool-${i}:ref:refs/heads/main`
      run(indexSubjects(aClient({ client_id: `client-${i}`, federated_credentials: [{ issuer, subject }] })))
    }
  })()
})

test(`with ${CLIENTS} clients, a lookup by subject reads only the row of its client, through an index`, () => {
  const exact = find('repo:acme/tool-1000:ref:refs/heads/main')
  expect([exact.result, exact.rows.length]).toEqual([['client-1000'], 1])
  const pattern = find('repo:acme/tool-1001:environment:production')
  expect([pattern.result, pattern.rows.length]).toEqual([['client-1001'], 1])
  expect(pattern.plans.join()).toContain('USING INDEX federated_subjects_by_lookup')
})

test.each(['repo:evil/tool-1000:ref:refs/heads/main', 'repo:acme/tool-1000', newId(), ':/'.repeat(400), ''])(
  'a lookup of the unknown subject %j reads no row',
  (subject) => {
    const { result, rows, plans } = find(subject)
    expect([result, rows, plans.length]).toEqual([undefined, [], 1])
  },
)
