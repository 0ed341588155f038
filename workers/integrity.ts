// Checks the pages of a SQLite file, as a process of its own: SQLite cannot be interrupted in the middle of it, a process can.
import { Database } from '../src/store/database.ts'

const db = new Database(process.argv[2], { readonly: true, fileMustExist: true })
process.stdout.write(String(db.pragma('quick_check(1)', { simple: true })))
