// A real OpenID provider: oidc-provider in this process, which signs every user in as the person that a test names.
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { newId } from '../../src/lib/id.ts'
import { CLIENT_ID, CLIENT_SECRET } from './openid_fake.ts'

interface Person {
  sub: string
  [claim: string]: unknown
}

const KEYS = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
} as const
type Alg = keyof typeof KEYS | 'PS256' | 'RS512'

export class RealProvider {
  /** Who signs in next. */
  person: Person = { sub: 'up-ada', email: 'ada@corp.example.com', email_verified: true, name: 'Ada Lovelace' }
  /** The prompts that were shown: `login`, `consent`. */
  readonly prompts: string[] = []
  /** The requested paths. */
  readonly asked: string[] = []
  /** The sessions of users at this provider, in the order of their sign-ins. */
  readonly sids: string[] = []
  /** Shows a page with a button before it signs a user in. */
  asks = false
  /** Answers with 503, like a proxy in front of an unavailable server. */
  away = false
  private handle: RequestListener = (_, response) => response.writeHead(503).end()
  private provider: Provider | undefined
  /** The path of the issuer. */
  private readonly path: string
  private readonly server = createServer((request, response) => void this.answer(request, response))

  private constructor(path: string) {
    this.path = path
  }

  /** Starts listening, with a path in the issuer if one is given; open() creates the provider. */
  static async listen(path = ''): Promise<RealProvider> {
    const op = new RealProvider(path)
    op.server.listen(0, '127.0.0.1')
    await once(op.server, 'listening')
    return op
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${this.path}`
  }

  /**
   * Begins anew with a new key, for one client; what was signed in is forgotten. `slug` names a further provider of the service, `admin` is
   * the address of its admin page.
   * Claims are in userinfo only, unless `more` has conformIdTokenClaims: false.
   */
  open(
    { issuer, slug = '', admin }: { issuer: string; slug?: string; admin?: string },
    alg: Alg = 'RS256',
    more: Record<string, unknown> = {},
  ): void {
    const suffix = slug && `/${slug}`
    const { privateKey } = KEYS[alg === 'PS256' || alg === 'RS512' ? 'RS256' : alg]()
    this.provider = new Provider(this.issuer, {
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: newId(), alg, use: 'sig' }] },
      cookies: { keys: ['test'] },
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          redirect_uris: [
            `${issuer}/oidc/callback${suffix}`,
            ...(admin ? [`${admin}/admin/ui/sign-in/callback${suffix}`] : []),
          ],
          backchannel_logout_uri: `${issuer}/oidc/backchannel-logout${suffix}`,
          backchannel_logout_session_required: true,
          id_token_signed_response_alg: alg,
        },
      ],
      enabledJWA: { idTokenSigningAlgValues: [alg] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups', 'roles'] },
      scopes: ['openid', 'email', 'profile', 'groups'],
      features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `${this.path}/interaction/${uid}` },
      findAccount: (_: unknown, accountId: string) => {
        const { person } = this
        return { accountId, claims: () => ({ ...person, sub: accountId }) }
      },
      ttl: { AccessToken: 300, AuthorizationCode: 60, Grant: 300, IdToken: 300, Interaction: 300, Session: 300 },
      pkce: { required: () => true },
      // It refuses loopback addresses by default.
      fetch: (url: URL, { dispatcher: _, ...request }: RequestInit & { dispatcher?: unknown }) => fetch(url, request),
      ...more,
    })
    this.provider.on('grant.success', (context) => {
      const { sid } = context.oidc.entities.AuthorizationCode ?? {}
      if (sid) this.sids.push(sid)
    })
    this.handle = this.provider.callback()
  }

  /** Sends a logout token for a session of the person to the service. Rejects when the service refuses it. */
  async logOut(sid: string | undefined): Promise<void> {
    const client = await this.provider?.Client.find(CLIENT_ID)
    await client?.backchannelLogout(this.person.sub, sid)
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // oidc-provider is mounted below a path: it reads the whole path from originalUrl.
    if (this.path)
      Object.assign(request, { originalUrl: request.url, url: (request.url ?? '').slice(this.path.length) })
    const path = (request.url ?? '').split('?')[0] ?? ''
    this.asked.push(path)
    if (this.away) response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>away</h1>')
    else if (path.startsWith('/interaction/') && this.provider) await this.signIn(this.provider, request, response)
    else this.handle(request, response)
  }

  /** The actions of a user on its pages: signing in, allowing. */
  private async signIn(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params } = await provider.interactionDetails(request, response)
    if (this.asks && prompt.name === 'login' && request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<!doctype html><title>provider</title><form method="post"><button>Sign in here</button></form>')
      return
    }
    this.prompts.push(prompt.name)
    const accountId = this.person.sub
    if (prompt.name === 'login') return provider.interactionFinished(request, response, { login: { accountId } })
    const grant = new provider.Grant({ accountId, clientId: CLIENT_ID })
    grant.addOIDCScope(params['scope'] ?? '')
    return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } })
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }
}
