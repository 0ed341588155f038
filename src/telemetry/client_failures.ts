// The last refused requests of each client, until they are written to the store, with what was sent beside what is allowed. Bounded, without secrets.
import { clip } from '../lib/bounded.ts'
import type { SentValue } from '../lib/error.ts'
import { redactText } from './redact.ts'

/** A refused request. Equal ones are counted. */
export interface ClientFailure {
  client_id: string
  step: string
  status: number
  error: string
  reason: string
  /** The message that the client got. */
  detail: string
  /** The parameter whose value was refused, and that value. */
  parameter?: string
  sent?: string
  /** Values that would have been accepted. */
  allowed?: string[]
  address: string
  /** Of the last one. */
  request_id: string
  count: number
  /** Epoch seconds. */
  first_at: number
  last_at: number
}

/** A value that a client sent and its rule, as they are shown: bounded, without control characters and secrets. */
export const shownSent = ({ parameter, value, allowed }: SentValue) => ({
  parameter,
  sent: sanitised(value, MAX_SENT),
  allowed: allowed.slice(0, MAX_ALLOWED).map((each) => sanitised(each, MAX_SENT)),
})

const [MAX_SENT, MAX_ALLOWED] = [1024, 20]
/** Longer texts are not searched for secrets. */
const MAX_SEARCHED = 8192

/** Characters that reverse, hide or end a line of text are escaped. */
const sanitised = (text: string, max: number): string =>
  clip(redactText(text.slice(0, MAX_SEARCHED)), max).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  )

/** A message with a value of a caller, as it is stored. */
export const shownText = (text: string): string => sanitised(text, MAX_DETAIL)
const MAX_DETAIL = 400

/** Distinct failures that wait to be written. More are not recorded. */
const MOST = 500
/** Those of one client, as many as the store keeps: the values that a caller chooses must not displace the failures of other clients. */
const MOST_OF_CLIENT = 20

/** What distinguishes failures of one client. */
export const failureKey = ({ step, reason, parameter = '', sent = '' }: ClientFailure): string =>
  `${step} ${reason} ${parameter} ${sent}`

/** The failures of one thread. */
export class FailureLog {
  private waiting = new Map<string, ClientFailure>()
  /** The number of waiting failures, by client. */
  private ofClients = new Map<string, number>()

  add(failure: ClientFailure): void {
    const key = `${failure.client_id} ${failureKey(failure)}`
    const before = this.waiting.get(key)
    if (before) this.waiting.set(key, { ...failure, count: before.count + failure.count, first_at: before.first_at })
    else if (this.waiting.size < MOST && this.hasRoom(failure.client_id)) this.waiting.set(key, failure)
  }

  /** Takes out what has been added. */
  take(): ClientFailure[] {
    const taken = [...this.waiting.values()]
    this.waiting = new Map()
    this.ofClients = new Map()
    return taken
  }

  private hasRoom(client_id: string): boolean {
    const count = (this.ofClients.get(client_id) ?? 0) + 1
    if (count > MOST_OF_CLIENT) return false
    this.ofClients.set(client_id, count)
    return true
  }
}
