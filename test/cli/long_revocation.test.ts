// A revocation of so many tokens that it becomes a job.
import path from 'node:path'
import { expect, test } from 'vitest'
import { Database } from '../../src/store/database.ts'
import { okAdmin } from '../support/admin.ts'
import { envOf, runHere } from '../support/cli.ts'
import { tempFolder } from '../support/folder.ts'
import { anIssuance } from '../support/records.ts'
import { addClient, startService } from '../support/service.ts'

/** Enough for more than the two seconds that the command waits for an answer. */
const TOKENS = 500_000

/** Copies the only token until there are so many. */
function multiply(file: string): void {
  const db = new Database(file)
  const rows = db.pragma('table_info(issuances)') as { name: string }[]
  const columns = rows.map(({ name }) => (name === 'id' ? 'CAST(substr(id, 1, 6) || randomblob(10) AS BLOB)' : name))
  db.exec(`WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ${TOKENS})
    INSERT INTO issuances SELECT ${columns.join(', ')} FROM issuances, n`)
  db.close()
}

test('the command shows the progress of the job and returns the totals, which the audit event has too', async () => {
  const file = path.join(tempFolder(), 'service.db')
  const env = { SERVICE_STORAGE_SQLITE_PATH: file, SERVICE_SIGNING_KEY_PATH: tempFolder() }
  const first = await startService(env)
  const { client_id } = await addClient(first)
  await first.app.store.recordIssuance(anIssuance({ client_id, expires_at: first.app.clock.now() + 3600 }))
  await first.close()
  multiply(file)
  const service = await startService(env)
  const { code, stdout, stderr } = await runHere(
    ['admin', 'revoke', '--client-id', client_id, '--json'],
    envOf(service),
  )
  expect(stderr).toMatch(/POST \/admin\/revocations: \d+ %, \d+ rows/)
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({ dry_run: false, tokens: TOKENS, families: 0, requests: 0, clients: 1 })
  expect(await okAdmin(service, 'GET', '/admin/jobs')).toMatchObject([
    { operation: 'POST /admin/revocations', status: 'done', percent: 100, answer: { tokens: TOKENS } },
  ])
  const [event] = await okAdmin<object[]>(service, 'GET', '/admin/audit?action=tokens_revoked')
  expect(event).toMatchObject({ detail: { tokens: TOKENS, clients: 1 } })
  await service.close()
}, 120_000)
