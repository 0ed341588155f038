// The thread of the yardstick that commits: one table with its time-ordered key.
import { workerData } from 'piscina'
import { nameThread } from '../../src/lib/threads/thread_name.ts'
import { openDatabase } from '../../src/store/database.ts'

export interface YardstickRow {
  id: string
  client_id: string
  iat: number
  exp: number
}

nameThread('store')
const { file, resource, scope } = workerData as { file: string; resource: string; scope: string }
const db = openDatabase(file, true)
db.exec(
  'CREATE TABLE issuances (id BLOB PRIMARY KEY, client_id TEXT, resource TEXT, scope TEXT, issued_at INTEGER, expires_at INTEGER) WITHOUT ROWID',
)
const insert = db.prepare('INSERT INTO issuances VALUES (?, ?, ?, ?, ?, ?)')
const insertAll = db.transaction((rows: readonly YardstickRow[]) => {
  for (const { id, client_id, iat, exp } of rows)
    insert.run(Buffer.from(id, 'base64url'), client_id, resource, scope, iat, exp)
})

export default (rows: string): void => insertAll(JSON.parse(rows) as YardstickRow[])
