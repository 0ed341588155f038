// The fetches of the documents of clients: when one succeeded, and why one failed.
import { DOCUMENT_GONE } from '../../records/client.ts'
import { change, type Op, orNull, raw, selectNumber } from '../op.ts'
import { column, plainTable } from '../table.ts'

/**
 * Stores the result of a fetch that changed nothing else: its time, or its error. The version of the client stays the same. Without a time the
 * one of the last good copy stays.
 */
export function* noteDocument(note: { client_id: string; fetched_at?: number; error?: string }): Op<void> {
  const { client_id, fetched_at, error } = note
  yield* change`UPDATE clients SET document_fetched_at = COALESCE(${orNull(fetched_at)}, document_fetched_at),
    document_error = ${orNull(error)} WHERE client_id = ${client_id}`
}

/** A client whose document could not be fetched. */
interface FailingDocument {
  client_id: string
  document_error: string
  document_fetched_at?: number
}

const FAILING_DOCUMENTS = plainTable<FailingDocument>('clients', {
  client_id: column.text(),
  document_error: column.text(),
  document_fetched_at: column.maybeInt,
})

const FAILING = raw("document_error IS NOT NULL AND status = 'active'")

/** The error of a document that is gone. */
const GONE = `%(${DOCUMENT_GONE})`

/** The active clients whose document could not be fetched. Those that still work come first, because their operators can act before they end. */
export const listFailingDocuments = ({ limit }: { limit: number }) =>
  FAILING_DOCUMENTS.list`WHERE ${FAILING}
    ORDER BY CASE WHEN document_error LIKE ${GONE} THEN 1 ELSE 0 END, client_id LIMIT ${limit}`

/** The number of these clients, without those whose document is gone. */
export const countStaleDocuments = () =>
  selectNumber`SELECT count(*) AS n FROM clients WHERE ${FAILING} AND document_error NOT LIKE ${GONE}`
