// An index over the federated credentials of clients: it finds the clients that a workload identity may name. A subject is found by its
// hash. A pattern is found by the hash of its parts before the first `*`. So only a few rows are read, even if 100,000 clients share an issuer.
import { globParts } from '../../lib/glob.ts'
import { digest } from '../../lib/id.ts'
import type { Client } from '../../records/client.ts'
import { all, change, idBytes, listed, type Op, str } from '../op.ts'

/** Maximum number of parts of a subject that are used to find patterns. */
const MAX_PARTS = 8

const hashed = (issuer: string, start: string): Buffer => idBytes(digest(JSON.stringify([issuer, start])))

/** The prefixes of a text that end with `/` or `:`, shortest first, preceded by the empty prefix. */
function starts(text: string): string[] {
  const found = ['']
  for (let at = 0; at < text.length && found.length <= MAX_PARTS; at++)
    if (text[at] === '/' || text[at] === ':') found.push(text.slice(0, at + 1))
  return found
}

/** The lookup key of a subject or pattern. The star distinguishes a pattern from a subject with the same text. */
function lookupOf(issuer: string, subject: string): Buffer {
  const star = subject.indexOf('*')
  return hashed(issuer, star === -1 ? subject : `${starts(subject.slice(0, star)).at(-1)}*`)
}

/** The lookup keys of everything that may match a subject. Their number is constant, so that one statement is prepared. */
function lookupsOf(issuer: string, subject: string): Buffer[] {
  const exact = hashed(issuer, subject)
  const patterns = starts(subject).map((start) => hashed(issuer, `${start}*`))
  return [exact, ...patterns, ...Array<Buffer>(MAX_PARTS + 1 - patterns.length).fill(exact)]
}

/** The clients with a credential of one of these issuers whose subject matches. Undefined when there are none. */
export function* findFederatedClients(w: { issuers: readonly string[]; subject: string }): Op<string[] | undefined> {
  const { issuers, subject } = w
  const found = new Set<string>()
  for (const issuer of issuers) {
    const lookups = listed(lookupsOf(issuer, subject))
    const rows = yield* all`SELECT client_id, subject FROM federated_subjects WHERE lookup IN ${lookups}`
    for (const row of rows) if (globParts(str(row.subject), subject)) found.add(str(row.client_id))
  }
  return found.size === 0 ? undefined : [...found]
}

/** Adds the federated credentials of a client to the index. */
export function* indexSubjects({ client_id, federated_credentials = [] }: Client): Op<void> {
  for (const { issuer, subject } of federated_credentials)
    yield* change`INSERT INTO federated_subjects (lookup, client_id, subject)
      VALUES (${lookupOf(issuer, subject)}, ${client_id}, ${subject})`
}

/** Removes a client from the index. */
export function* unindexSubjects(client_id: string): Op<void> {
  yield* change`DELETE FROM federated_subjects WHERE client_id = ${client_id}`
}
