// `service try assertion`: a client assertion (private_key_jwt, RFC 7523 §2.2) made from a private key, and the request that sends it.
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { issuerOf } from '../../config/issuer.ts'
import type { Config } from '../../config/schema.ts'
import { CLIENT_ALGS, isSoundKey } from '../../crypto/jws.ts'
import { newId } from '../../lib/id.ts'
import { parseObject } from '../../lib/json.ts'
import type { ClientAlg, Jwk } from '../../records/jwk.ts'
import { readText } from '../input.ts'
import { baseUrlOf } from '../origin.ts'
import { UsageError } from '../output.ts'
import { shellQuoted } from './server.ts'

/** Seconds. Long enough to copy the command, and within the usual limits of servers. */
const LIFETIME = 300
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

export interface AssertionFlags {
  /** A file in PEM or JWK; `-` is standard input. */
  key: string
  clientId: string
  kid?: string
  alg?: string
  /** Default: server.issuer. */
  issuer?: string
  resource?: string
  scope?: string
}

interface TriedAssertion {
  header: { alg: ClientAlg; kid?: string; typ: string }
  claims: Record<string, unknown>
  client_assertion: string
  /** The registration that the client needs. */
  jwks: { keys: Jwk[] }
  command: string
}

/** Creates an assertion. Sends nothing, and returns nothing that contains the private key. Throws UsageError for a key that no client may have. */
export async function tryAssertion(config: Config, flags: AssertionFlags, now: number): Promise<TriedAssertion> {
  const { key, kid = flags.kid } = readKey(await readText(flags.key), flags.key)
  const jwk = createPublicKey(key).export({ format: 'jwk' }) as Jwk
  const alg = algOf(jwk, flags.alg)
  const issuer = flags.issuer ?? issuerOf(config)
  const header = { alg, ...(kid === undefined ? {} : { kid }), typ: 'JWT' }
  const lifetime = Math.min(LIFETIME, config.oauth.assertion_max_lifetime)
  const { clientId } = flags
  const claims = { iss: clientId, sub: clientId, aud: issuer, iat: now, exp: now + lifetime, jti: newId() }
  const client_assertion = await new SignJWT(claims).setProtectedHeader(header).sign(key)
  return {
    header,
    claims,
    client_assertion,
    jwks: { keys: [{ ...jwk, ...(kid === undefined ? {} : { kid }), alg, use: 'sig' }] },
    command: curlCommand(flags.issuer ?? baseUrlOf(config), client_assertion, flags),
  }
}

function readKey(text: string, file: string): { key: KeyObject; kid?: string } {
  const jwk = parseObject(Buffer.from(text))
  try {
    if (!jwk) return { key: createPrivateKey(text) }
    const { kid } = jwk
    const key = createPrivateKey({ key: jwk as Record<string, string>, format: 'jwk' })
    return { key, kid: typeof kid === 'string' ? kid : undefined }
  } catch {
    if (/^(-----BEGIN|Proc-Type:).*ENCRYPTED/m.test(text))
      throw new UsageError(`${file} holds an encrypted key: decrypt it first, for example with openssl pkey`)
    throw new UsageError(`${file} must hold a private key, as PEM or JWK`)
  }
}

/** The algorithm of the assertion: the given one, or else the first one that fits the key. */
function algOf(jwk: Jwk, asked: string | undefined): ClientAlg {
  const able = CLIENT_ALGS.filter((alg) => isSoundKey(alg, jwk))
  if (able.length === 0)
    throw new UsageError(
      'the key of a client must be an EC key of P-256, an RSA key of at least 2048 bits, or an Ed25519 key',
    )
  const chosen = asked === undefined ? able[0] : able.find((alg) => alg === asked)
  if (!chosen) throw new UsageError(`--alg must be one of ${able.join(', ')} for this key`)
  return chosen
}

function curlCommand(base: string, client_assertion: string, { resource, scope }: AssertionFlags): string {
  const form = {
    grant_type: 'client_credentials',
    resource,
    scope,
    client_assertion_type: ASSERTION_TYPE,
    client_assertion,
  }
  const fields = Object.entries(form).flatMap(([name, value]) =>
    value === undefined ? [] : [`--data-urlencode ${shellQuoted(`${name}=${value}`)}`],
  )
  return `curl -s ${shellQuoted(`${base.replace(/\/$/, '')}/oauth/token`)} ${fields.join(' ')}`
}

/** The assertion as text for a terminal. */
export const assertionText = ({
  header,
  claims,
  jwks,
  command,
}: TriedAssertion): string => `# The public key. The client must be registered with it, as jwks or at its jwks_uri.
${JSON.stringify(jwks)}

# The assertion says:
${JSON.stringify(header)}
${JSON.stringify(claims, null, 2)}

# It can be used once, for ${Number(claims['exp']) - Number(claims['iat'])} seconds:
${command}
`
