// A small identity provider: signs ID-JAG assertions with an independent library, and serves its keys over HTTP.
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CompactSign } from 'jose'
import { newId } from '../../src/lib/id.ts'
import { type Changes, type ProofKey, proofKey } from './dpop.ts'
import { atEndOfFile } from './end_of_file.ts'

export interface IdpKey extends ProofKey {
  kid?: string
}

/** A key of an identity provider, with a kid of its own. */
export const idpKey = async (alg = 'ES256', kid: string | undefined = newId()): Promise<IdpKey> => ({
  ...(await proofKey(alg)),
  kid,
})

/** Signs claims (JSON text as it is) under any header. */
export const signed = (key: IdpKey, header: Record<string, unknown>, claims: Record<string, unknown> | string) =>
  new CompactSign(Buffer.from(typeof claims === 'string' ? claims : JSON.stringify(claims)))
    .setProtectedHeader({ alg: key.alg, ...header })
    .sign(key.privateKey)

/** The receiver of an assertion: a client of a service, at the time of the clock of the service. */
export interface Audience {
  aud: string
  client_id: string
  now: number
}

export class TestIdp {
  /** The published keys; the first one signs. */
  keys: IdpKey[]
  /** Answers instead of the key set. */
  answer?: RequestListener
  /** Further documents by path. */
  readonly routes: Record<string, RequestListener> = {}
  /** Requests for the key set so far. */
  fetches = 0
  /** The number of connections so far. */
  connections = 0
  private readonly server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0] ?? ''
    if (path !== '/jwks.json') {
      const route = this.routes[path]
      if (route) route(request, response)
      else response.writeHead(404).end()
      return
    }
    this.fetches++
    if (this.answer) return this.answer(request, response)
    response.writeHead(200, { 'content-type': 'application/jwk-set+json' }).end(JSON.stringify(this.jwks()))
  })

  private constructor(key: IdpKey) {
    this.keys = [key]
    this.server.on('connection', () => this.connections++)
  }

  /** Starts an identity provider on a loopback port. It is closed when the test file ends. */
  static async start(alg = 'ES256'): Promise<TestIdp> {
    const idp = new TestIdp(await idpKey(alg))
    atEndOfFile(() => idp.close())
    idp.server.listen(0, '127.0.0.1')
    await once(idp.server, 'listening')
    return idp
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }
  get issuer(): string {
    return `http://127.0.0.1:${this.port}`
  }
  get jwks_uri(): string {
    return `${this.issuer}/jwks.json`
  }
  get key(): IdpKey {
    return this.keys[0] as IdpKey
  }

  jwks() {
    return { keys: this.keys.map(({ jwk, kid, alg }) => ({ ...jwk, ...(kid ? { kid } : {}), alg, use: 'sig' })) }
  }

  /** Publishes one new key instead of all others. Returns the key that signed before. */
  async rotate(alg = 'ES256'): Promise<IdpKey> {
    const before = this.key
    this.keys = [await idpKey(alg)]
    return before
  }

  /** Header and claims of a valid assertion, with changes. */
  parts({ aud, client_id, now }: Audience, { header, claims }: Changes = {}, key = this.key) {
    return {
      header: { typ: 'oauth-id-jag+jwt', alg: key.alg, ...(key.kid ? { kid: key.kid } : {}), ...header },
      claims: {
        ...{ iss: this.issuer, sub: 'employee-1', aud, client_id, jti: newId(), iat: now, exp: now + 300 },
        ...claims,
      },
    }
  }

  /** A valid assertion, with changes. */
  assertion(audience: Audience, changes: Changes = {}, key = this.key): Promise<string> {
    const { header, claims } = this.parts(audience, changes, key)
    return signed(key, header, claims)
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }
}
