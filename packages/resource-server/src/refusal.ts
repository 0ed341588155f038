// A refused request: the status, the challenge of RFC 6750 or RFC 9449, and the parameter that MCP requires (RFC 9728 §5.1).
import type { AuthorizationDetail } from './details.ts'

/** The error code of a refusal. The refusal of a request without a token has no code (RFC 6750 §3.1). */
export type RefusalCode =
  | 'invalid_request'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'insufficient_user_authentication'
  | 'insufficient_authorization_details'
  | 'invalid_dpop_proof'
  | 'temporarily_unavailable'

/** A request that must be answered with `status`, `headers` and `body`. */
export class Refusal extends Error {
  readonly status: number
  readonly code: RefusalCode | undefined
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** The authorization details that the token lacks. */
  readonly details: readonly AuthorizationDetail[]

  constructor(
    status: number,
    code: RefusalCode | undefined,
    description: string,
    headers: Record<string, string>,
    details: readonly AuthorizationDetail[] = [],
  ) {
    super(description)
    this.name = 'Refusal'
    this.status = status
    this.code = code
    this.headers = headers
    this.details = details
  }

  /** The body of the response as an object. */
  get body(): { error: string; error_description: string } {
    return { error: this.code ?? 'unauthorized', error_description: this.message }
  }

  /**
   * `data` of a JSON-RPC error that tells an MCP client which details it needs, in the form of the draft SEP-2643, which may change. Undefined for
   * other refusals.
   */
  get draftDenial(): object | undefined {
    const hint = { type: 'oauth_authorization_details', authorization_details: this.details }
    return this.details.length > 0
      ? { authorization: { reason: 'insufficient_authorization', remediationHints: [hint] } }
      : undefined
  }

  /** The response for servers that use the Fetch API. */
  toResponse(): Response {
    return Response.json(this.body, { status: this.status, headers: this.headers })
  }
}

const STATUS: Readonly<Record<RefusalCode, number>> = {
  invalid_request: 400,
  invalid_token: 401,
  invalid_dpop_proof: 401,
  insufficient_scope: 403,
  insufficient_user_authentication: 401,
  insufficient_authorization_details: 403,
  temporarily_unavailable: 503,
}

/** Creates the refusals of one resource. */
export class Refusals {
  private readonly resourceMetadata: string
  private readonly algorithms: string

  /** `resourceMetadata` is the URL of the metadata document. `algorithms` are those of DPoP proofs, separated by spaces. */
  constructor(resourceMetadata: string, algorithms: string) {
    this.resourceMetadata = resourceMetadata
    this.algorithms = algorithms
  }

  /** A request without a token. The scopes are those that the request needs. */
  withoutToken(scheme: 'Bearer' | 'DPoP', scopes: readonly string[]): Refusal {
    const challenge = this.challenge(scheme, { scope: scopes.join(' ') })
    return new Refusal(401, undefined, 'the request has no access token', { 'www-authenticate': challenge })
  }

  /** A request with a token that is not accepted. */
  refuse(scheme: 'Bearer' | 'DPoP', error: RefusalCode, description: string, scopes: readonly string[] = []): Refusal {
    if (error === 'temporarily_unavailable') return new Refusal(503, error, description, { 'retry-after': '1' })
    const challenge = this.challenge(scheme, { error, error_description: description, scope: scopes.join(' ') })
    return new Refusal(STATUS[error], error, description, { 'www-authenticate': challenge })
  }

  /** A token of a sign-in of another class (RFC 9470 §3). */
  needsSignIn(scheme: 'Bearer' | 'DPoP', acrValues: readonly string[], scopes: readonly string[]): Refusal {
    const error = 'insufficient_user_authentication'
    const description = 'the user must sign in with another factor'
    const parameters = {
      error,
      error_description: description,
      acr_values: acrValues.join(' '),
      scope: scopes.join(' '),
    }
    return new Refusal(STATUS[error], error, description, { 'www-authenticate': this.challenge(scheme, parameters) })
  }

  /** A token that does not allow some single actions. */
  needsDetails(scheme: 'Bearer' | 'DPoP', details: readonly AuthorizationDetail[]): Refusal {
    const error = 'insufficient_authorization_details'
    const description = `the token lacks authorization details of the type ${details.map(({ type }) => type).join(' ')}`
    const challenge = this.challenge(scheme, { error, error_description: description })
    return new Refusal(STATUS[error], error, description, { 'www-authenticate': challenge }, details)
  }

  private challenge(scheme: 'Bearer' | 'DPoP', parameters: Record<string, string>): string {
    const all = {
      resource_metadata: this.resourceMetadata,
      ...(scheme === 'DPoP' ? { algs: this.algorithms } : {}),
      ...parameters,
    }
    const given = Object.entries(all).filter(([, value]) => value !== '')
    return `${scheme} ${given.map(([name, value]) => `${name}="${quotable(value)}"`).join(', ')}`
  }
}

/** A value as it may appear between quotes in a header: %x20-21 / %x23-5B / %x5D-7E (RFC 6750 §3). Nothing else reaches a header. */
const quotable = (value: string): string => value.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?')
