// The SQLite driver, by the rules of every driver.
import { conformance } from './conformance.ts'
import { openSqliteStore } from './sqlite_file.ts'

conformance(openSqliteStore)
