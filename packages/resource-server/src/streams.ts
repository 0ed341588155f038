// The stream of a process at the authorization server (OpenID SSF 1.0 §8.1): its creation, what it delivers, and its deletion.
import type { Answer, AuthorizationServer } from './authorization_server.ts'
import type { RevocationOptions } from './options.ts'
import { EVENTS_NEEDED } from './revocation_list.ts'

const POLL = 'urn:ietf:rfc:8936'
const PUSH = 'urn:ietf:rfc:8935'

/** What a stream delivers now. `version` changes with every change that may have left out events. */
export interface Delivers {
  status: string
  events: readonly string[]
  /** The URIs of the resources whose events it contains. */
  resources: readonly string[]
  version: string
}

export interface Stream {
  stream_id: string
  aud: string | string[]
  delivery: { endpoint_url: string }
  description?: string
  delivers?: Delivers
}

/** The stream does not deliver the revocations of this resource. No token may be accepted until it does. */
export class NotDelivering extends Error {}

/** Throws NotDelivering unless a stream delivers every event about a resource that this package needs. No statement is no delivery. */
export function checkDelivers(delivers: Delivers | undefined, resource: string): asserts delivers is Delivers {
  const fail = (reason: string) => new NotDelivering(reason)
  if (!delivers) throw fail('the authorization server does not say what the stream delivers: it must be updated')
  const { status, events, resources } = delivers
  if (status !== 'enabled') throw fail(`the stream is ${status}`)
  const missing = EVENTS_NEEDED.filter((type) => !events.includes(type))
  if (missing.length > 0) throw fail(`the stream does not deliver the events ${missing.join(', ')}`)
  if (!resources.includes(resource)) throw fail(`the client is not on the runtime list of ${resource}`)
}

/** The streams of the client of this resource server. */
export class Streams {
  private readonly server: AuthorizationServer
  private readonly options: RevocationOptions

  constructor(server: AuthorizationServer, options: RevocationOptions) {
    this.server = server
    this.options = options
  }

  /** Creates the stream of this process. It is polled, unless events are to be pushed. */
  async create(push: { url: string; authorization: string } | undefined): Promise<Stream> {
    const { configuration_endpoint } = await this.server.transmitter()
    if (this.options.name !== undefined) await this.deleteEarlier(configuration_endpoint, this.options.name)
    const delivery = push
      ? { method: PUSH, endpoint_url: push.url, authorization_header: push.authorization }
      : { method: POLL }
    const body = { delivery, events_requested: EVENTS_NEEDED, description: this.options.name ?? '' }
    const answer = await this.server.call(this.options, 'POST', configuration_endpoint, body)
    if (answer.status !== 201) throw new Error(`the stream was not created: ${said(answer)}`)
    return JSON.parse(answer.body) as Stream
  }

  /** The stream as it is now, with what it delivers. Undefined if it was deleted. */
  async read(stream_id: string): Promise<Stream | undefined> {
    const answer = await this.server.call(this.options, 'GET', `${await this.urlOf(stream_id)}&delivers=true`)
    if (answer.status === 404) return undefined
    if (!answer.ok) throw new Error(`the stream cannot be read: ${said(answer)}`)
    return JSON.parse(answer.body) as Stream
  }

  /** Requests a verification event with a state. */
  async verify(stream_id: string, state: string): Promise<void> {
    const { verification_endpoint } = await this.server.transmitter()
    const answer = await this.server.call(this.options, 'POST', verification_endpoint, { stream_id, state })
    if (!answer.ok) throw new Error(`the verification was refused: ${said(answer)}`)
  }

  /** Deletes a stream. */
  async delete(stream_id: string): Promise<void> {
    await this.server.call(this.options, 'DELETE', await this.urlOf(stream_id))
  }

  /** Deletes the streams of an earlier process with this name. A process that was killed could not delete its stream. */
  private async deleteEarlier(endpoint: string, name: string): Promise<void> {
    const answer = await this.server.call(this.options, 'GET', endpoint)
    if (!answer.ok) throw new Error(`the streams cannot be listed: ${said(answer)}`)
    for (const { stream_id, description } of JSON.parse(answer.body) as Stream[])
      if (description === name) await this.delete(stream_id)
  }

  private async urlOf(stream_id: string): Promise<string> {
    const { configuration_endpoint } = await this.server.transmitter()
    return `${configuration_endpoint}?stream_id=${encodeURIComponent(stream_id)}`
  }
}

/** The status and the beginning of the body of an answer, for the log. */
export const said = ({ status, body }: Answer): string => `${status} ${body.slice(0, 300)}`
