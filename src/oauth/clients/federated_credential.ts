// Federated credentials: which tokens of other issuers authenticate a client (federated_jwt), and what operators may set.
import { z } from 'zod'
import { isOwnIssuer, issuerOf } from '../../config/issuer.ts'
import type { Config } from '../../config/schema.ts'
import { endpoint, listOf, text } from '../../lib/field.ts'
import { globParts } from '../../lib/glob.ts'
import { isHttpUrl } from '../../lib/url.ts'
import type { Client, FederatedCredential } from '../../records/client.ts'
import { refuseMetadata } from './client_metadata.ts'

const MAX_CREDENTIALS = 20
const MAX_CLAIMS = 20
/** Maximum number of characters of a subject, and of a claim. */
const MAX_PATTERN = 1024
const TRUST_DOMAIN = /^spiffe:\/\/[a-z0-9._-]{1,255}$/

/** Whether an issuer is a SPIFFE trust domain. Its tokens are JWT-SVIDs, which need no `iss`. */
export const isTrustDomain = (issuer: string): boolean => TRUST_DOMAIN.test(issuer)

const isIssuer = (text: string): boolean =>
  isTrustDomain(text) || (endpoint().safeParse(text).success && !text.includes('?'))

/** The trust domain of a SPIFFE ID, as an issuer. Undefined for other subjects. */
export function trustDomainOf(subject: string): string | undefined {
  const [issuer] = /^spiffe:\/\/[^/]*(?=\/.)/.exec(subject) ?? []
  return issuer !== undefined && isTrustDomain(issuer) ? issuer : undefined
}

const pattern = () => text(MAX_PATTERN).min(1, 'must not be empty')

const credential = z
  .strictObject({
    issuer: text(2048)
      .refine(isIssuer, 'must be an http or https URL without query and fragment, or spiffe://TRUST-DOMAIN')
      .meta({
        anyOf: [{ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^?#]*$' }, { pattern: TRUST_DOMAIN.source }],
      })
      .describe('The iss of the tokens, compared byte for byte; or spiffe://TRUST-DOMAIN for JWT-SVIDs.'),
    subject: pattern().describe(
      'The sub of the tokens. A * stands for at least one character of one part; / and : end a part.',
    ),
    audience: text(2048)
      .min(1, 'must not be empty')
      .optional()
      .describe('Value that aud must contain. Default: the issuer of this server.'),
    claims: z
      .record(text(255).min(1, 'must not be empty'), pattern())
      .refine((claims) => Object.keys(claims).length <= MAX_CLAIMS, `must have at most ${MAX_CLAIMS} members`)
      .meta({ maxProperties: MAX_CLAIMS })
      .optional()
      .describe(
        'Further claims that the tokens must have. Each must be a string that matches by the same rules as the subject.',
      ),
    jwks_uri: endpoint()
      .optional()
      .describe('URL of the keys. Default: the one that the OpenID discovery of the issuer names.'),
  })
  .superRefine(({ issuer, subject, jwks_uri }, context) => {
    if (!isTrustDomain(issuer)) return
    if (!subject.startsWith(`${issuer}/`))
      context.addIssue({ code: 'custom', path: ['subject'], message: 'must begin with the trust domain and /' })
    if (!jwks_uri)
      context.addIssue({ code: 'custom', path: ['jwks_uri'], message: 'is required for a SPIFFE trust domain' })
  })

/** The federated credentials of a client, as operators set them. */
export const federatedCredentials = listOf(credential, { max: MAX_CREDENTIALS, filled: true }).describe(
  'Workload identities with which the client authenticates, for token_endpoint_auth_method federated_jwt.',
)

type Federated = Pick<Client, 'token_endpoint_auth_method' | 'federated_credentials'>

/** Checks the federated credentials of a client. Throws invalid_client_metadata. */
export function checkFederated(config: Config, { token_endpoint_auth_method, federated_credentials }: Federated): void {
  const isNeeded = token_endpoint_auth_method === 'federated_jwt'
  const path = 'federated_credentials'
  if (isNeeded && !federated_credentials) throw refuseMetadata([{ path, message: 'is required for federated_jwt' }])
  if (!isNeeded && federated_credentials) throw refuseMetadata([{ path, message: 'is only for federated_jwt' }])
  const faults = credentialFaults(config, federated_credentials ?? [])
  if (faults.length > 0) throw refuseMetadata(faults)
}

/** What the configuration forbids in credentials. */
function credentialFaults(config: Config, credentials: readonly FederatedCredential[]) {
  const isPlain = (url: string | undefined) => url !== undefined && isHttpUrl(url) && !/^https:/i.test(url)
  const mayBePlain = config.cimd.allow_private_addresses
  return credentials.flatMap(({ issuer, jwks_uri }, i) => {
    const path = `federated_credentials[${i}]`
    const faults: { path: string; message: string }[] = []
    if (isOwnIssuer(config, issuer)) faults.push({ path: `${path}.issuer`, message: 'must not be that of this server' })
    // Keys that are fetched over plain http can be forged.
    if (!mayBePlain && isPlain(jwks_uri)) faults.push({ path: `${path}.jwks_uri`, message: 'must use https' })
    if (!mayBePlain && !jwks_uri && isPlain(issuer)) faults.push({ path: `${path}.issuer`, message: 'must use https' })
    return faults
  })
}

export type TokenClaims = Readonly<Record<string, unknown>>
/** What a credential requires of a token, by the reason of the refusal. */
const MEETS = {
  assertion_subject: ({ issuer, subject }: FederatedCredential, { iss, sub }: TokenClaims) =>
    (iss === issuer || isTrustDomain(issuer)) && isMatch(subject, sub),
  assertion_audience: ({ audience }: FederatedCredential, { aud }: TokenClaims, own: string) =>
    (Array.isArray(aud) ? aud : [aud]).includes(audience ?? own),
  assertion_claims: ({ claims = {} }: FederatedCredential, token: TokenClaims) =>
    Object.entries(claims).every(([name, value]) => Object.hasOwn(token, name) && isMatch(value, token[name])),
}
type Demand = keyof typeof MEETS
/** Every requirement, in the order in which it is checked. */
export const DEMANDS: readonly Demand[] = ['assertion_subject', 'assertion_audience', 'assertion_claims']

const isMatch = (wanted: string, value: unknown): boolean =>
  typeof value === 'string' && value.length <= MAX_PATTERN && globParts(wanted, value)

/** The first requirement of a credential that a token does not meet. Undefined when the token matches. */
export function unmetDemand(config: Config, credential: FederatedCredential, claims: TokenClaims): Demand | undefined {
  const own = issuerOf(config)
  return DEMANDS.find((demand) => !MEETS[demand](credential, claims, own))
}
