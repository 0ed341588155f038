// The fetches of the documents of clients: when one succeeded, and why one failed.
import { DOCUMENT_GONE } from '../../records/client.ts'
import { all, change, maybeNum, type Op, orNull, selectNumber, str } from '../op.ts'

/**
 * Stores the result of a fetch that changed nothing else: its time, or its error. The version of the client stays the same. Without a time the
 * one of the last good copy stays.
 */
export function* noteDocument(note: { client_id: string; fetched_at?: number; error?: string }): Op<void> {
  yield* change(
    'UPDATE clients SET document_fetched_at = COALESCE(?, document_fetched_at), document_error = ? WHERE client_id = ?',
    orNull(note.fetched_at),
    orNull(note.error),
    note.client_id,
  )
}

/** A client whose document could not be fetched. */
interface FailingDocument {
  client_id: string
  document_error: string
  document_fetched_at?: number
}

const FAILING = `document_error IS NOT NULL AND status = 'active'`

/** The error of a document that is gone. */
const GONE = `%(${DOCUMENT_GONE})`

/** The active clients whose document could not be fetched. Those that still work come first, because their operators can act before they end. */
export function* listFailingDocuments({ limit }: { limit: number }): Op<FailingDocument[]> {
  const rows = yield* all(
    `SELECT client_id, document_error, document_fetched_at FROM clients WHERE ${FAILING}
     ORDER BY CASE WHEN document_error LIKE ? THEN 1 ELSE 0 END, client_id LIMIT ?`,
    GONE,
    limit,
  )
  return rows.map((row) => ({
    client_id: str(row.client_id),
    document_error: str(row.document_error),
    document_fetched_at: maybeNum(row.document_fetched_at),
  }))
}

/** The number of these clients, without those whose document is gone. */
export const countStaleDocuments = () =>
  selectNumber(`SELECT count(*) AS n FROM clients WHERE ${FAILING} AND document_error NOT LIKE ?`, GONE)
