// Checks the pages of a SQLite file in a separate process, because a process can be killed during the check, and SQLite cannot interrupt it.
import { Database } from '../src/store/database.ts'

const db = new Database(process.argv[2], { readonly: true, fileMustExist: true })
process.stdout.write(String(db.pragma('quick_check(1)', { simple: true })))
