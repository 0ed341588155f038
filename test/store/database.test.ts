// How a database file is opened and prepared.
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { openDatabase, prepareDatabase } from '../../src/store/database.ts'
import { tempFolder } from '../support/folder.ts'
import { NOW } from '../support/records.ts'

const newFile = () => path.join(tempFolder(), 'data/deep/service.db')
const pragma = (file: string, wal: boolean, name: string) => {
  const db = openDatabase(file, wal)
  const value = db.pragma(name, { simple: true })
  db.close()
  return value
}

describe('opening', () => {
  test('the folder is created with access for its owner only', () => {
    const file = newFile()
    openDatabase(file, true).close()
    expect((statSync(path.dirname(file)).mode & 0o777).toString(8)).toBe('700')
  })

  test('answered writes survive a power failure: synchronous is FULL (2)', () => {
    expect(pragma(newFile(), true, 'synchronous')).toBe(2)
  })

  test('the journal mode is WAL, unless it is switched off', () => {
    const file = newFile()
    expect(pragma(file, true, 'journal_mode')).toBe('wal')
    expect(pragma(file, false, 'journal_mode')).toBe('delete')
  })

  test('a statement waits five seconds for a lock of another process', () => {
    expect(pragma(newFile(), true, 'busy_timeout')).toBe(5000)
  })

  test('a file that is not a database, or a folder, is refused with an error that names it', () => {
    const text = path.join(tempFolder(), 'text.db')
    writeFileSync(text, 'this is no database, but it is long enough to be looked at\n'.repeat(50))
    const folder = path.join(tempFolder(), 'folder.db')
    mkdirSync(folder)
    for (const file of [text, folder])
      expect(() => openDatabase(file, true)).toThrow(`cannot open the database ${file}: `)
  })

  test('a folder that cannot be created is an error that names the file', () => {
    const blocker = path.join(tempFolder(), 'blocker')
    writeFileSync(blocker, '')
    chmodSync(blocker, 0o600)
    expect(() => openDatabase(path.join(blocker, 'service.db'), true)).toThrow(`cannot open the database ${blocker}`)
  })
})

describe('preparing', () => {
  test('the tables are created and the applied migrations returned; the second time nothing is applied', () => {
    const file = newFile()
    expect(prepareDatabase(file, true, NOW)).toContain('001_clients_users')
    expect(prepareDatabase(file, true, NOW)).toEqual([])
  })

  test('every table that grows with traffic is stored in the order of its ids', () => {
    const file = newFile()
    prepareDatabase(file, true, NOW)
    const db = openDatabase(file, true)
    const sqlOf = (table: string) =>
      (db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').get(table) as { sql: string }).sql
    for (const table of [
      'authorization_requests',
      'token_families',
      'refresh_tokens',
      'issuances',
      'audit_events',
      'sessions',
    ])
      expect(sqlOf(table), table).toContain('WITHOUT ROWID')
    db.close()
  })
})
