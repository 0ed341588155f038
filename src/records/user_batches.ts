// The import of the users of a file through the admin API, in batches. The command line and the admin page use it.
import type { UserLine } from './user_file.ts'

/** The treatment of a user whose email exists already. */
export const EXISTING = ['refuse', 'skip'] as const
/** Maximum number of users in one request. */
export const MAX_IMPORTED = 500
/** Maximum number of bytes of a file. */
export const MAX_USER_FILE = 256 * 1024 * 1024
/** A batch stays well below the largest body that the admin API takes. */
const MAX_BATCH_BYTES = 512 * 1024

/** The numbers of users of an import. */
export interface ImportCounts {
  created: number
  skipped: number
}
/** Sends one request to the admin API. Returns what it did, or the `errors` of its refusal. */
export type SendUsers = (users: readonly object[], dry_run: boolean) => Promise<ImportCounts | UserErrors>
interface UserErrors {
  errors: readonly { index: number; message: string }[]
}

/** What the server finds in a file without a change: the numbers, and the mistakes with their lines. */
export async function checkUsers(lines: readonly UserLine[], send: SendUsers) {
  const [counts, faults]: [ImportCounts, string[]] = [{ created: 0, skipped: 0 }, []]
  for (const batch of batchesOf(lines)) {
    const result = await sendBatch(batch, send, true)
    if ('errors' in result) faults.push(...faultsIn(batch, result))
    else add(counts, result)
  }
  return { counts, faults }
}

/**
 * Creates the users of a file that was checked, and counts them in `counts` batch by batch, so that the caller knows them when a later
 * batch is refused. Returns the mistakes of that batch: another request created one of its users meanwhile.
 */
export async function writeUsers(lines: readonly UserLine[], send: SendUsers, counts: ImportCounts): Promise<string[]> {
  for (const batch of batchesOf(lines)) {
    const result = await sendBatch(batch, send, false)
    if ('errors' in result) return faultsIn(batch, result)
    add(counts, result)
  }
  return []
}

const sendBatch = (batch: readonly UserLine[], send: SendUsers, dry_run: boolean) =>
  send(
    batch.map(({ user }) => user),
    dry_run,
  )

const faultsIn = (batch: readonly UserLine[], { errors }: UserErrors): string[] =>
  errors.map(({ index, message }) => `line ${batch[index]?.line}: ${message}`)

function add(counts: ImportCounts, { created, skipped }: ImportCounts): void {
  counts.created += created
  counts.skipped += skipped
}

function* batchesOf(lines: readonly UserLine[]): Generator<UserLine[]> {
  const encoder = new TextEncoder()
  let [batch, bytes]: [UserLine[], number] = [[], 0]
  for (const each of lines) {
    const size = encoder.encode(JSON.stringify(each.user)).length
    if (batch.length === MAX_IMPORTED || (batch.length > 0 && bytes + size > MAX_BATCH_BYTES)) {
      yield batch
      ;[batch, bytes] = [[], 0]
    }
    batch.push(each)
    bytes += size
  }
  if (batch.length > 0) yield batch
}
