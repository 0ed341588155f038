// The verification of a request: its token, its proof, its scopes, and revocations.
import { errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { AuthorizationServer, scopesOf } from './authorization_server.ts'
import { type AuthorizationDetail, hasDetail } from './details.ts'
import { Feed } from './feed.ts'
import { Lru } from './lru.ts'
import type { AccessToken, ClientCredentials, IncomingRequest, ResourceMetadata, VerifierOptions } from './options.ts'
import { PROOF_ALGORITHMS, ProofError, Proofs } from './proof.ts'
import { type Refusal, type RefusalCode, Refusals } from './refusal.ts'
import { ProofsFull } from './seen_proofs.ts'

const TOKEN_ALGORITHMS = ['ES256', 'ES384', 'ES512', 'PS256', 'RS256', 'EdDSA', 'Ed25519']
/** Maximum length of a token. Longer tokens are refused before any work. */
const MOST_TOKEN_CHARACTERS = 16_384
/** Seconds after which a token is verified again, so that the removal of its key is detected. */
const REMEMBERED = 300
/** Maximum number of characters of the tokens in the cache. With its claims, a token takes about five bytes for each. */
const MOST_REMEMBERED_CHARACTERS = 16 * 1024 * 1024

type Scheme = 'Bearer' | 'DPoP'
type Refuse = (code: RefusalCode, description: string) => Refusal

interface Remembered {
  token: AccessToken
  /** Epoch seconds. */
  until: number
  /** Time of the last introspection that returned active. Epoch seconds. */
  confirmed: number
}

/** Verifies the requests of one resource. */
export class Verifier {
  /** The metadata document of the resource, to be served at the path of `resourceMetadataUrl`. */
  readonly resourceMetadata: ResourceMetadata
  readonly resourceMetadataUrl: string
  private readonly options: VerifierOptions
  private readonly server: AuthorizationServer
  private readonly origin: string
  private readonly tolerance: number
  private readonly remembered: Lru<Remembered>
  private readonly proofs: Proofs
  private readonly refusals: Refusals
  private readonly feed: Feed | undefined
  private keys: Promise<JWTVerifyGetKey> | undefined

  constructor(options: VerifierOptions) {
    const { origin, pathname } = new URL(options.resource)
    const algorithms = PROOF_ALGORITHMS
    this.options = options
    this.origin = origin
    this.tolerance = options.clockTolerance ?? 5
    this.server = new AuthorizationServer(options.issuer, options.fetch ?? fetch)
    this.remembered = new Lru(options.cacheSize ?? 10_000, MOST_REMEMBERED_CHARACTERS)
    this.proofs = new Proofs(this.tolerance)
    const wellKnown = `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`
    this.resourceMetadataUrl = options.resourceMetadata ?? wellKnown
    this.refusals = new Refusals(this.resourceMetadataUrl, algorithms.join(' '))
    this.resourceMetadata = metadataOf(options, algorithms)
    const forgetKeys = () => {
      this.keys = undefined
      this.remembered.clear()
    }
    if (options.revocations) this.feed = new Feed(this.server, options.resource, options.revocations, forgetKeys)
    this.feed?.start()
  }

  /**
   * Verifies a request. `scopes` are required in addition to those of the options, and `acrValues` in place of theirs.
   * Throws a Refusal, which has the status and the headers of the response.
   */
  async verify(
    request: IncomingRequest,
    scopes: readonly string[] = [],
    acrValues: readonly string[] = this.options.acrValues ?? [],
  ): Promise<AccessToken> {
    const needed = [...(this.options.scopes ?? []), ...scopes]
    const { scheme, token } = this.credentials(request, needed)
    const refuse = (code: RefusalCode, description: string) => this.refusals.refuse(scheme, code, description, needed)
    const verified = await this.tokenOf(token, refuse)
    await this.checkBinding(request, scheme, verified, refuse)
    if (!hasSignedInAs(acrValues, verified)) throw this.refusals.needsSignIn(scheme, acrValues, needed)
    const missing = needed.filter((scope) => !verified.scopes.includes(scope))
    if (missing.length > 0) throw refuse('insufficient_scope', `the token lacks the scope ${missing.join(' ')}`)
    return verified
  }

  /**
   * Throws a Refusal (403) unless a token that `verify` returned allows single actions (RFC 9396): for each of `needed`, one of its details must have
   * all of these members with these values. That an action is done only once is for the caller to ensure, by the `jti` of the token.
   */
  requireDetails({ claims }: Pick<AccessToken, 'claims'>, ...needed: readonly AuthorizationDetail[]): void {
    const missing = needed.filter((each) => !hasDetail(claims['authorization_details'], each))
    if (missing.length > 0) throw this.refusals.needsDetails(claims['cnf'] === undefined ? 'Bearer' : 'DPoP', missing)
  }

  /** Processes an event that the authorization server pushed to `revocations.delivery.push`. Returns the response. */
  receive(request: Request): Promise<Response> {
    return this.feed?.receive(request) ?? Promise.resolve(new Response(null, { status: 404 }))
  }

  /** Ends the subscription to revocations. */
  async close(): Promise<void> {
    await this.feed?.close()
  }

  private credentials(request: IncomingRequest, needed: readonly string[]): { scheme: Scheme; token: string } {
    const preferred = this.options.dpop === 'required' ? 'DPoP' : 'Bearer'
    const header = headerOf(request, 'authorization')
    const [, name = '', token = ''] = /^(\S+) +(\S+)$/.exec(header) ?? []
    const scheme = ({ bearer: 'Bearer', dpop: 'DPoP' } as const)[name.toLowerCase()]
    if (!scheme) throw this.refusals.withoutToken(preferred, needed)
    return { scheme, token }
  }

  /** The verified token. For a cached token, only its expiry and its revocation are checked. */
  private async tokenOf(token: string, refuse: Refuse): Promise<AccessToken> {
    const now = Date.now() / 1000
    const known = this.remembered.get(token)
    const entry = known && known.until > now ? known : await this.verified(token, now, refuse)
    if (entry.token.expiresAt + this.tolerance <= now) throw refuse('invalid_token', 'the token has expired')
    await this.checkRevocation(entry, refuse)
    if (entry !== known) this.remembered.set(token, entry)
    return entry.token
  }

  private async verified(token: string, now: number, refuse: Refuse): Promise<Remembered> {
    if (token.length > MOST_TOKEN_CHARACTERS) throw refuse('invalid_token', 'the token is too long')
    try {
      this.keys ??= this.server.keySet()
      const { payload, protectedHeader } = await jwtVerify(token, await this.keys, {
        issuer: this.options.issuer,
        audience: this.options.resource,
        typ: 'at+jwt',
        algorithms: TOKEN_ALGORITHMS,
        clockTolerance: this.tolerance,
        requiredClaims: ['exp', 'iat', 'sub', 'client_id', 'jti'],
      })
      const of: AccessToken = {
        token,
        claims: payload,
        subject: String(payload.sub),
        clientId: String(payload['client_id']),
        scopes: scopesOf(payload['scope']),
        expiresAt: Number(payload.exp),
        keyId: protectedHeader.kid ?? '',
      }
      return { token: of, until: now + REMEMBERED, confirmed: Number.NEGATIVE_INFINITY }
    } catch (error) {
      this.keys?.catch(() => {
        this.keys = undefined
      })
      if (isOfToken(error)) throw refuse('invalid_token', 'the token is not valid for this resource')
      throw refuse('temporarily_unavailable', 'the keys of the authorization server cannot be read')
    }
  }

  private async checkRevocation(entry: Remembered, refuse: Refuse): Promise<void> {
    const { token } = entry
    const { introspection, revocations } = this.options
    if (this.feed && !this.feed.isFresh())
      throw refuse('temporarily_unavailable', 'the feed of revocations does not work at the moment')
    const verdict = this.feed?.list.verdict(token)
    if (verdict?.state === 'revoked') throw refuse('invalid_token', 'the token was revoked')
    const wanted = introspection && (introspection.when?.(token) ?? true)
    const isUnsure = verdict?.state === 'unsure' && entry.confirmed <= verdict.heard
    const as = wanted ? introspection : isUnsure ? revocations : undefined
    if (as) entry.token = await this.introspected(entry, as, refuse)
  }

  /** The token with the scopes that it has now, according to the authorization server. */
  private async introspected(entry: Remembered, as: ClientCredentials, refuse: Refuse): Promise<AccessToken> {
    const { token } = entry
    const asked = Date.now() / 1000
    const scopes = await this.server.introspect(as, token.token).catch(() => {
      throw refuse('temporarily_unavailable', 'the authorization server cannot be asked about the token')
    })
    if (!scopes) throw refuse('invalid_token', 'the token was revoked')
    entry.confirmed = asked
    return { ...token, scopes: scopesOf(token.claims['scope']).filter((scope) => scopes.includes(scope)) }
  }

  private async checkBinding(
    request: IncomingRequest,
    scheme: Scheme,
    { token, claims }: AccessToken,
    refuse: Refuse,
  ): Promise<void> {
    const { jkt } = (claims['cnf'] as { jkt?: string } | undefined) ?? {}
    if (jkt === undefined) {
      if (this.options.dpop === 'required' || scheme === 'DPoP')
        throw this.refusals.refuse('DPoP', 'invalid_token', 'the token is not bound to a key')
      return
    }
    if (scheme !== 'DPoP') throw this.refusals.refuse('DPoP', 'invalid_token', 'the token needs a DPoP proof')
    const proof = headerOf(request, 'dpop')
    if (proof === '' || proof.includes(',')) throw refuse('invalid_dpop_proof', 'the request needs exactly one proof')
    const url = this.origin + pathOf(request.url)
    const subject = String(claims['sub'])
    await this.proofs.verify(proof, { token, subject, jkt, method: request.method, url }).catch((error) => {
      if (error instanceof ProofError) throw refuse('invalid_dpop_proof', error.message)
      if (error instanceof ProofsFull) throw refuse('temporarily_unavailable', error.message)
      throw error
    })
  }
}

/** Whether a token is of a sign-in of one of some classes. Clients that act for themselves do not sign in. */
function hasSignedInAs(acrValues: readonly string[], { claims, subject, clientId }: AccessToken): boolean {
  if (acrValues.length === 0 || subject === clientId) return true
  const { acr, amr } = claims
  const isMfa = Array.isArray(amr) && amr.includes('mfa')
  return acrValues.some((value) => value === acr || (value === 'mfa' && isMfa))
}

/** Whether the token caused an error, and not the keys. */
const isOfToken = (error: unknown): boolean =>
  error instanceof errors.JOSEError && !(error instanceof errors.JWKSTimeout) && !(error instanceof errors.JWKSInvalid)

/**
 * The path of a request, exactly as it was sent, because the server chose its handler by it. A URL parser would read `//host/path` as a URL
 * of another host, and would remove `/../`.
 */
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '') || '/'

function headerOf({ headers }: IncomingRequest, name: string): string {
  if (typeof headers.get === 'function') return headers.get(name) ?? ''
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name]
  return typeof value === 'string' ? value : (value ?? []).join(',')
}

function metadataOf(
  { issuer, resource, scopes, scopesSupported, dpop }: VerifierOptions,
  algorithms: string[],
): ResourceMetadata {
  const supported = scopesSupported ?? scopes
  return {
    resource,
    authorization_servers: [issuer],
    ...(supported ? { scopes_supported: [...supported] } : {}),
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: algorithms,
    ...(dpop === 'required' ? { dpop_bound_access_tokens_required: true } : {}),
  }
}
